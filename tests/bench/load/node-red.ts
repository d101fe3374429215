import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { findFreePort } from '@station/kit/free-port';
import { installPackages } from '../../rig/npm-packages.ts';
import { startDaemon, waitFor, type Daemon } from '../../rig/program.ts';
import type { Workspace } from '../../rig/workspace.ts';
import { cores, onCore } from './pinned.ts';

const versions = { 'node-red': '5.0.7', 'node-red-node-sqlite': '1.1.1' };
export type NodeRed = { daemon: Daemon; rows(): number };

/**
 * How states get into the table. `usual`: a flow as most people draw it, one insert for each message, with SQLite's
 * default settings. `best`: the function node collects messages and writes them every hundred milliseconds in one
 * transaction, to a write-ahead log without a sync.
 */
export type NodeRedStyle = 'usual' | 'best';

/** @returns the main script of Node-RED, which has its SQLite node beside it. */
export async function installNodeRed(): Promise<string> {
  const folder = await installPackages(versions, { scripts: ['sqlite3'] });
  return join(folder, 'node_modules/node-red/red.js');
}

/** SQLite result code (sqlite.org/rescode.html). */
const sqliteBusy = 5;

/** Node-RED on the core of the measured program: MQTT in at QoS 1 → function → SQLite, without its editor. */
export async function startNodeRed(
  workspace: Workspace,
  options: { script: string; style: NodeRedStyle; mqtt: { port: number; username: string; password: string } },
): Promise<NodeRed> {
  const { script, style, mqtt } = options;
  const folder = await workspace.subfolder(`node-red-${style}`);
  const file = join(folder, 'states.sqlite');
  // Node-RED locks the database with each insert of the usual flow.
  const database = new DatabaseSync(file, { timeout: 1_000 });
  database.exec('create table states (device text not null, at integer not null, state text not null)');
  if (style === 'best') database.exec('pragma journal_mode = wal');
  const settings = {
    flowFile: 'flows.json',
    userDir: folder,
    nodesDir: join(dirname(script), '../node-red-node-sqlite'),
    uiPort: await findFreePort(),
    uiHost: '127.0.0.1',
    httpAdminRoot: false,
    credentialSecret: false,
    logging: { console: { level: 'info' } },
  };
  const { username: user, password } = mqtt;
  await writeFile(join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settings)}`);
  await writeFile(join(folder, 'flows.json'), JSON.stringify(flow(style, file, mqtt.port)));
  await writeFile(join(folder, 'flows_cred.json'), JSON.stringify({ 'the-broker': { user, password } }));
  const [taskset, ...args] = onCore(cores.measured, [
    process.execPath,
    script,
    '--settings',
    join(folder, 'settings.js'),
  ]);
  const daemon = workspace.own(
    await startDaemon(taskset, args, { logFile: join(folder, 'log'), cwd: folder, env: { HOME: folder } }),
  );
  await waitFor('Node-RED to connect', async () => {
    if (!daemon.running()) throw new Error(await daemon.logTail());
    return (await daemon.logTail()).includes('Connected to broker');
  });
  const last = database.prepare('select coalesce(max(rowid), 0) as n from states');
  workspace.own({ [Symbol.asyncDispose]: async () => database.close() });
  let known = 0;
  const rows = (): number => {
    try {
      known = Number(last.get()?.['n']);
    } catch (error) {
      // Inserts of the usual flow can follow one another so closely that a reader gets no turn; then the read is
      // repeated.
      if (!(error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy)) throw error;
    }
    return known;
  };
  return { daemon, rows };
}

/**
 * The flow in the format of the editor's export. No id may be the name of a type, because Node-RED would use the type
 * instead.
 */
function flow(style: NodeRedStyle, file: string, port: number): object[] {
  const insert = 'insert into states (device, at, state) values ($device, $at, $state)';
  const each = `
    msg.params = { $device: msg.topic.split('/')[3], $at: Date.now(), $state: JSON.stringify(msg.payload.state) };
    return msg;`;
  const gather = `
    const quoted = (text) => "'" + text.replaceAll("'", "''") + "'";
    const rows = context.get('rows');
    rows.push('(' + quoted(msg.topic.split('/')[3]) + ',' + Date.now() + ',' + quoted(JSON.stringify(msg.payload.state)) + ')');
    return null;`;
  const start = `
    context.set('rows', []);
    node.send({ topic: 'pragma synchronous = normal' });
    const timer = setInterval(() => {
      const rows = context.get('rows').splice(0);
      if (rows.length > 0) node.send({ topic: 'insert into states (device, at, state) values ' + rows.join(',') });
    }, 100);
    context.set('timer', timer);`;
  const usual = style === 'usual';
  const own = usual
    ? { func: each }
    : { func: gather, initialize: start, finalize: `clearInterval(context.get('timer'))` };
  return [
    { id: 'the-tab', type: 'tab', label: 'States' },
    {
      id: 'the-broker',
      type: 'mqtt-broker',
      broker: '127.0.0.1',
      port: String(port),
      clientid: 'node-red',
      autoConnect: true,
      usetls: false,
      protocolVersion: '4',
      keepalive: '60',
      cleansession: true,
    },
    {
      id: 'the-input',
      type: 'mqtt in',
      z: 'the-tab',
      topic: 'station/+/device/+/state',
      qos: '1',
      datatype: 'json',
      broker: 'the-broker',
      inputs: 0,
      wires: [['the-function']],
    },
    {
      id: 'the-function',
      type: 'function',
      z: 'the-tab',
      outputs: 1,
      timeout: 0,
      noerr: 0,
      libs: [],
      initialize: '',
      finalize: '',
      ...own,
      wires: [['the-insert']],
    },
    {
      id: 'the-insert',
      type: 'sqlite',
      z: 'the-tab',
      mydb: 'the-file',
      sqlquery: usual ? 'prepared' : 'batch',
      sql: insert,
      wires: [[]],
    },
    { id: 'the-file', type: 'sqlitedb', db: file, mode: 'RWC' },
  ];
}
