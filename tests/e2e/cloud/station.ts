import assert from 'node:assert/strict';
import type { CloudTuning } from '../../../apps/backend/src/cloud/cloud.ts';
import { runBackend, type RunningBackend } from '../../../apps/backend/testing/running-backend.ts';
import { addDevice, connectDevice, type TestDevice } from '../../../apps/backend/testing/test-device.ts';
import { startReferenceCloud, type ReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { waitFor } from '../../rig/program.ts';
import type { Workspace } from '../../rig/workspace.ts';
import { makeCertificates, type Certificates } from './certificates.ts';

export type ClaimedStation = {
  cloud: ReferenceCloud;
  backend: RunningBackend;
  device: TestDevice;
  deviceId: string;
  certificates: Certificates;
  token: string;
  /** Numbers of the events that the cloud has received, in the order of arrival. */
  receivedEvents(): number[];
  /** Ids of the commands that the device has received. */
  commandIds(): string[];
};

/** Reconnects immediately, so that a test of a hundred losses takes seconds. */
export const impatient: CloudTuning = {
  reconnect: { nextMs: () => 20, stable: () => undefined },
};

/** A backend in this process, claimed by a reference cloud over TLS, with one device on a real connection. */
export async function claimedStation(workspace: Workspace, tuning: CloudTuning = impatient): Promise<ClaimedStation> {
  const certificates = await makeCertificates(workspace.folder);
  const cloud = workspace.own(await startReferenceCloud({ tls: certificates.tls }));
  const env = { CLOUD_HOST: cloud.host, CLOUD_CA_FILE: certificates.caFile, CLOUD_TLS_PINS: certificates.pin };
  const backend = workspace.own(await runBackend({ env, cloudTuning: tuning }));
  const login = await addDevice(backend.backend.db, 'porch', 'pir');
  const device = workspace.own(await connectDevice(backend.backend.mqttAddress ?? '', login));
  const waiting = await waitFor('a station that waits for a claim', () => cloud.waiting()[0]);
  const token = cloud.claim(waiting.chipId, waiting.claimSecret);
  assert.ok(token !== null);
  await cloud.connection();
  await device.publish('heartbeat', { status: 'online' });
  const heardEvents = (): number[] =>
    cloud.received.flatMap(({ method, params }) =>
      method === 'device.event' ? [(params['data'] as { n: number }).n] : [],
    );
  const commandIds = (): string[] =>
    device.received.flatMap(({ topic, body }) => (topic.endsWith('/command') ? [String(body['commandId'])] : []));
  return { cloud, backend, device, deviceId: login.id, certificates, token, receivedEvents: heardEvents, commandIds };
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
