import io.debezium.ddl.parser.oracle.generated.PlSqlLexer;
import io.debezium.ddl.parser.oracle.generated.PlSqlParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.antlr.v4.runtime.BailErrorStrategy;
import org.antlr.v4.runtime.BaseErrorListener;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.Lexer;
import org.antlr.v4.runtime.Parser;
import org.antlr.v4.runtime.RecognitionException;
import org.antlr.v4.runtime.Recognizer;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.misc.ParseCancellationException;
import org.apache.shardingsphere.sql.parser.autogen.OracleStatementLexer;
import org.apache.shardingsphere.sql.parser.autogen.OracleStatementParser;

/** Reads one statement a line, writes a line of two words for each: what either parser says, yes or no. */
public final class Check {
    private static final class Errors extends BaseErrorListener {
        private int count;

        @Override
        public void syntaxError(Recognizer<?, ?> by, Object at, int line, int column, String text,
                RecognitionException error) {
            count++;
        }
    }

    private interface Rule<P extends Parser> {
        void parse(P parser);
    }

    private static <P extends Parser> boolean accepts(Lexer lexer, P parser, Rule<P> rule) {
        Errors errors = new Errors();
        for (Recognizer<?, ?> each : new Recognizer<?, ?>[] {lexer, parser}) {
            each.removeErrorListeners();
            each.addErrorListener(errors);
        }
        parser.setErrorHandler(new BailErrorStrategy()); // one error is enough: how it would go on is not asked
        try {
            rule.parse(parser);
        } catch (ParseCancellationException error) {
            return false;
        }
        return errors.count == 0 && parser.getTokenStream().LA(1) == Token.EOF;
    }

    private static boolean debezium(String sql) {
        PlSqlLexer lexer = new PlSqlLexer(CharStreams.fromString(sql.toUpperCase() + ";"));
        return accepts(lexer, new PlSqlParser(new CommonTokenStream(lexer)), PlSqlParser::sql_script);
    }

    private static boolean shardingSphere(String sql) {
        OracleStatementLexer lexer = new OracleStatementLexer(CharStreams.fromString(sql));
        return accepts(lexer, new OracleStatementParser(new CommonTokenStream(lexer)), OracleStatementParser::execute);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String sql = in.readLine(); sql != null; sql = in.readLine()) {
            System.out.println((debezium(sql) ? "yes" : "no") + " " + (shardingSphere(sql) ? "yes" : "no"));
        }
    }
}
