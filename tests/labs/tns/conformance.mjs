// What an independent client sees of the emulated server. Arguments: port, folder of node_modules. Prints one JSON line.
import { createRequire } from "node:module";

const [port, modules] = process.argv.slice(2);
const oracledb = createRequire(modules + "/")("oracledb");
const at = { connectString: `127.0.0.1:${port}/orclpdb1`, user: "APP", password: "right, and secret" };
const seen = { thin: oracledb.thin };

async function numberOf(work) {
  try {
    await work();
    return "no error";
  } catch (error) {
    return error.code;
  }
}

seen.wrongPassword = await numberOf(() => oracledb.getConnection({ ...at, password: "wrong" }));
seen.wrongService = await numberOf(() => oracledb.getConnection({ ...at, connectString: `127.0.0.1:${port}/nobody` }));
const agent = await oracledb.getConnection({ ...at, user: "HOTPLACE" });
const query = async (sql, binds = []) => (await agent.execute(sql, binds, { fetchArraySize: 50 })).rows;
seen.version = agent.oracleServerVersionString;
seen.segments = await query(
  "SELECT segment_name, bytes FROM dba_segments WHERE owner = :1 AND segment_type = 'TABLE' ORDER BY 1", ["APP"]);
seen.many = (await query("SELECT s.obj#, s.statistic_name, s.value FROM v$segstat s")).length;
const started = (await query("SELECT startup_time FROM v$instance"))[0][0];
seen.started = [started.getFullYear(), started.getMonth() + 1, started.getDate(), started.getHours()];
seen.empty = await query("SELECT owner FROM dba_recyclebin");
seen.unknownView = await numberOf(() => query("SELECT 1 FROM dba_nothing"));
seen.moved = await numberOf(() => agent.execute('ALTER TABLE "APP"."ORDERS" MOVE ONLINE TABLESPACE "FAST"'));
seen.home = await query("SELECT tablespace_name FROM dba_segments WHERE segment_name = 'ORDERS'");
agent.callTimeout = 300;
seen.timeout = await numberOf(() => agent.execute('ALTER TABLE "APP"."LARGE" MOVE TABLESPACE "FAST"'));
agent.callTimeout = 0;
seen.reused = await query("SELECT tablespace_name FROM dba_segments WHERE segment_name = 'LARGE'");
setTimeout(() => agent.break(), 300);
seen.broken = await numberOf(() => agent.execute('ALTER TABLE "APP"."LARGE" MOVE TABLESPACE "FAST"'));
seen.after = await query("SELECT COUNT(*) FROM dual");
await agent.commit();
await agent.rollback();
await agent.ping();
await agent.close();
console.log(JSON.stringify(seen));
