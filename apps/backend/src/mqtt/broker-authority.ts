import { readText, type Disk } from '@station/kit/files';
import type { MqttConfig } from '../config.ts';

/**
 * Whom the backend trusts to vouch for the broker of an `mqtts://` address.
 * @returns certificates as in the file (PEM); null: those that Node knows.
 * @throws {Error} when the file is missing or holds none: else every connection would fail with a word about something else.
 */
export async function readBrokerAuthority(config: MqttConfig, disk: Disk): Promise<string | null> {
  if (config.kind === 'embedded' || config.caFile === null) return null;
  const text = await readText(disk, config.caFile);
  if (text === null) throw new Error('There is no file where MQTT_CA_FILE points to');
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error('The file of MQTT_CA_FILE holds no certificate (PEM)');
  return text;
}
