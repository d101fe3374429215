import { X509Certificate } from 'node:crypto';
import type { CheckOutcome, Finding } from '@station/kit/doctor-decide';
import { parseObject } from '@station/kit/json';
import type { BackendFindingCode } from '@station/protocol/doctor-findings';
import { readTextFile } from './adapters/data-files.ts';
import type { MqttConfig } from '../mqtt/mqtt.ts';

type Configured = { variable: string; file: string | null; isValid: (text: string) => boolean; otherwise: string };

/** Files that the configuration names must be there and hold what they should. */
export async function checkConfiguredFiles(config: {
  mqtt: MqttConfig;
  cloud: { caFile: string | null } | null;
  devicesFile: string | null;
}): Promise<CheckOutcome<BackendFindingCode>> {
  const { mqtt, cloud, devicesFile } = config;
  const certificate = { isValid: isCertificate, otherwise: 'it is no certificate (PEM)' };
  const configured: Configured[] = [
    { variable: 'MQTT_CA_FILE', file: mqtt.kind === 'external' ? mqtt.caFile : null, ...certificate },
    { variable: 'CLOUD_CA_FILE', file: cloud?.caFile ?? null, ...certificate },
    { variable: 'DEVICES_FILE', file: devicesFile, isValid: isDeviceList, otherwise: 'it is no list of devices' },
  ];
  const findings: Finding<BackendFindingCode>[] = [];
  for (const { variable, file, isValid, otherwise } of configured) {
    if (file === null) continue;
    const content = await readTextFile(file);
    const reason = 'failure' in content ? content.failure : isValid(content.text) ? null : otherwise;
    if (reason !== null) findings.push({ code: 'config_file_unusable', values: { variable, file, reason } });
  }
  return { detail: null, findings };
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== undefined;
  } catch {
    return false;
  }
}

function isDeviceList(text: string): boolean {
  return Array.isArray(parseObject(text)?.['devices']);
}
