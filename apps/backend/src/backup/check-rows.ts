import { Value } from 'typebox/value';
import { isExternalId } from '@station/protocol/topics';
import { FirmwareReady, isFirmwareName, parseFirmwareFileName } from '@station/protocol/firmware';
import { consumerKinds } from '@station/protocol/consumers';
import { NewGateway } from '@station/protocol/gateways';
import { parseVersion } from '@station/protocol/version';
import { openForeignFile } from './adapters/sqlite-schema.ts';
import { pragma, readTextsOf } from '../core/adapters/sqlite.ts';
import type { Schema } from '../store/schema.ts';
import { BackupRefused } from './backup-refused.ts';

type Check = (text: string) => boolean;
type Rule = { table: string; columns: Readonly<Record<string, Check>> };

const rule = <Table extends keyof Schema>(
  table: Table,
  columns: Partial<Record<keyof Schema[Table] & string, Check>>,
): Rule => ({ table, columns: columns as Record<string, Check> });

/** Releases made UUIDs only; others of this form are no more than names. */
const isId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);
const isPath = (text: string): boolean => Value.Check(FirmwareReady.properties.path, text);
const isBaseTopic = (text: string): boolean => Value.Check(NewGateway.properties.baseTopic, text);
/** The login of a person's own program at the broker, or of a device, is not taken over. */
const isGatewayLogin = (text: string): boolean => /^gateway-[0-9a-f]{10}$/.test(text);
const isDialect = (text: string): boolean => Value.Check(NewGateway.properties.dialect, text);
/** `<dialect>:<address>` */
const isForeignId = (text: string): boolean => isExternalId(text) && isDialect(text.split(':', 1)[0] ?? '');
const isConsumerKind = (text: string): boolean => consumerKinds.some((kind) => kind === text);
const isConsumerLogin = (text: string): boolean => /^consumer-[0-9a-f]{10}$/.test(text);
/** What is emptied when it is not told any more. */
const isConsumerTopic = (text: string): boolean => text.length <= 500 && !/^(station\/|\$)|[+#\u0000]/.test(text);
const isVersion = (text: string): boolean => parseVersion(text) !== null;
const isFirmwareFile = (text: string): boolean => parseFirmwareFileName(text) !== null;

/** What becomes part of a topic, a path or an address. It passes the same checks as where it is received. */
const rules: readonly Rule[] = [
  rule('users', { id: isId }),
  rule('zones', { id: isId }),
  rule('automations', { id: isId }),
  rule('scenes', { id: isId }),
  rule('devices', { id: isId, external_id: isExternalId }),
  rule('removed_devices', { device_id: isId, external_id: isExternalId }),
  rule('removed_logins', { device_id: isId, external_id: isExternalId }),
  rule('unknown_devices', { external_id: isExternalId }),
  rule('provisionings', { id: isId, external_id: isExternalId }),
  rule('gateways', {
    id: isId,
    dialect: isDialect,
    base_topic: isBaseTopic,
    discovery_prefix: isBaseTopic,
    login: isGatewayLogin,
  }),
  // Its plan names topics: each is compared with the trees of its gateway before something is published there.
  rule('gateway_devices', { external_id: isForeignId, gateway_id: isId }),
  rule('consumers', { kind: isConsumerKind, topic: isBaseTopic, login: isConsumerLogin }),
  rule('consumer_topics', { kind: isConsumerKind, topic: isConsumerTopic }),
  rule('firmware_images', { type: isFirmwareName, version: isVersion, file: isFirmwareFile, path: isPath }),
  rule('firmware_rollouts', { id: isId, type: isFirmwareName, version: isVersion }),
];

/**
 * Checks the rows of a database whose schema is known.
 * @throws BackupRefused `not_accepted`; `damaged` when it is the database of another station than the manifest says.
 */
export function checkRows(file: string, stationId: string): void {
  using database = openForeignFile(file);
  const stations = readTextsOf(database, 'select id, station_id from station limit 2');
  if (stations.length !== 1 || stations[0]?.['id'] !== 'station' || stations[0]['station_id'] !== stationId)
    throw new BackupRefused('damaged', new Error('The database is not of the station that the manifest names'));
  const tables = new Set(
    readTextsOf(database, "select name from sqlite_schema where type = 'table'").map(({ name }) => name),
  );
  for (const { table, columns } of rules) {
    // Migrations of a later release make it.
    if (!tables.has(table)) continue;
    // The check of every page does not compare an index with its table: what is read from it would be of somebody else's choice.
    const damage = pragma(database, `integrity_check('${table}')`);
    if (damage !== 'ok') throw new BackupRefused('damaged', new Error(String(damage)));
    const there = readTextsOf(database, `select name from pragma_table_info('${table}')`);
    const checks = Object.entries(columns).filter(([name]) => there.some((one) => one['name'] === name));
    for (const [column, isGood] of checks) {
      const query = `select distinct "${column}" as value from "${table}" where "${column}" is not null`;
      for (const { value } of database.prepare(query).iterate()) {
        if (typeof value === 'string' && isGood(value)) continue;
        throw new BackupRefused('not_accepted', new Error(`${table}.${column} has a value that is not accepted`));
      }
    }
  }
}
