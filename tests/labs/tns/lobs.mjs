// How an independent client reads large objects. Arguments: port, folder of node_modules. Prints one JSON line.
import { createRequire } from "node:module";

const [port, modules] = process.argv.slice(2);
const oracledb = createRequire(modules + "/")("oracledb");
const at = { connectString: `127.0.0.1:${port}/echo`, user: "scott", password: "tiger" };
const connection = await oracledb.getConnection(at);
const seen = {};
const [[text, data]] = (await connection.execute("SELECT * FROM t")).rows;
seen.lengths = [text.length, data.length];
seen.text = await text.getData();
seen.data = [...(await data.getData())];
oracledb.fetchAsString = [oracledb.CLOB];
oracledb.fetchAsBuffer = [oracledb.BLOB];
const [[inline, bytes]] = (await connection.execute("SELECT * FROM t WHERE 1 = 1")).rows;
seen.inline = [inline, [...bytes]];
await connection.close();
console.log(JSON.stringify(seen));
