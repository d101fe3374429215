import type {
  DeviceLoginSheet,
  ManualAdd,
  ManualProvisionings,
  Provisioning,
  ProvisioningAdd,
  ProvisioningStarted,
  ProvisioningView,
} from '@station/protocol/provisioning';
import { type Command, useCommand } from '../../api/command.ts';
import { type Reading, useReading } from '../../api/reading.ts';
import { provisioningKey, withRead } from './follow-provisioning.ts';

/** What is near, what is being added, and the state of the radio. */
export const useProvisioning = (): Reading<ProvisioningView> =>
  useReading(provisioningKey, 'GET /api/provisioning', { merge: withRead });

const afterwards = { reads: provisioningKey };

/** Adds a device that is near. */
export const useAdd = (): Command<ProvisioningStarted, ProvisioningAdd> =>
  useCommand((session, body) => session.call('POST /api/provisioning/add', { body }), afterwards);

/** `toBody` comes late, because new zones may have to be created first. */
export const useManualAdd = (): Command<ManualProvisionings, () => Promise<ManualAdd>> =>
  useCommand(
    async (session, toBody) => session.call('POST /api/provisioning/manual', { body: await toBody() }),
    afterwards,
  );

export const useCancel = (id: string): Command<Provisioning> =>
  useCommand((session) => session.call('DELETE /api/provisioning/:id', { params: { id } }), afterwards);

/** A new login for an Improv device that waits; the one before stops working. */
export const useLogin = (id: string): Command<DeviceLoginSheet> =>
  useCommand((session) => session.call('POST /api/provisioning/:id/login', { params: { id } }), afterwards);
