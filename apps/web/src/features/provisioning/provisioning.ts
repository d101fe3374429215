import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import type {
  DeviceLoginSheet,
  ManualAdd,
  ManualProvisionings,
  Provisioning,
  ProvisioningAdd,
  ProvisioningStarted,
  ProvisioningView,
} from '@station/protocol/provisioning';
import { type Reading, useReading } from '../../api/reading.ts';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { provisioningKey, withRead } from './follow-provisioning.ts';

/** What is near, what is being added, and the state of the radio. */
export const useProvisioning = (): Reading<ProvisioningView> =>
  useReading(provisioningKey, 'GET /api/provisioning', { merge: withRead });

type Command<Input, Output> = UseMutationResult<Output, Problem, Input>;

function useCommand<Input, Output>(call: (input: Input) => Promise<Output>): Command<Input, Output> {
  const { queries } = useServices();
  return useMutation<Output, Problem, Input>({
    mutationFn: call,
    // Answers contain secrets: they go with the view that asked.
    gcTime: 0,
    onSettled: () => queries.invalidateQueries({ queryKey: provisioningKey }),
  });
}

/** Adds a device that is near. */
export function useAdd(): Command<ProvisioningAdd, ProvisioningStarted> {
  const { session } = useServices();
  return useCommand((body) => session.call('POST /api/provisioning/add', { body }));
}

/** `toBody` comes late, because new zones may have to be created first. */
export function useManualAdd(): Command<() => Promise<ManualAdd>, ManualProvisionings> {
  const { session } = useServices();
  return useCommand(async (toBody) => session.call('POST /api/provisioning/manual', { body: await toBody() }));
}

export function useCancel(id: string): Command<void, Provisioning> {
  const { session } = useServices();
  return useCommand(() => session.call('DELETE /api/provisioning/:id', { params: { id } }));
}

/** A new login for an Improv device that waits; the one before stops working. */
export function useLogin(id: string): Command<void, DeviceLoginSheet> {
  const { session } = useServices();
  return useCommand(() => session.call('POST /api/provisioning/:id/login', { params: { id } }));
}
