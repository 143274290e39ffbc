// Reads lines "parser <tab> statement" and says of each whether Microsoft's parsers take it.
// "110" to "150": ScriptDom as that version of SQL Server reads; "SqlParser": the parser of SQL Server Management Studio.
using System;
using System.Collections.Generic;
using System.IO;
using Microsoft.SqlServer.Management.SqlParser.Parser;
using Microsoft.SqlServer.TransactSql.ScriptDom;

public static class Check
{
    public static int Main()
    {
        string line;
        while ((line = Console.In.ReadLine()) != null)
        {
            string[] parts = line.Split(new[] { '\t' }, 2);
            Console.Out.WriteLine(Refusal(parts[0], parts[1]) ?? "yes");
        }
        return 0;
    }

    private static string Refusal(string parser, string sql)
    {
        if (parser == "SqlParser")
        {
            try
            {
                foreach (Error error in Parser.Parse(sql).Errors) return "no: " + error.Message;
                return null;
            }
            catch (Exception error)  // it stumbles over options that it has no name for
            {
                return "no: " + error.Message;
            }
        }
        IList<ParseError> errors;
        ScriptDom(parser).Parse(new StringReader(sql), out errors);
        return errors.Count == 0 ? null : "no: " + errors[0].Message;
    }

    private static TSqlParser ScriptDom(string version)
    {
        switch (version)
        {
            case "110": return new TSql110Parser(true);
            case "120": return new TSql120Parser(true);
            case "130": return new TSql130Parser(true);
            case "140": return new TSql140Parser(true);
            case "150": return new TSql150Parser(true);
            default: throw new ArgumentException(version);
        }
    }
}
