import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import type {
  Firmware,
  FirmwareMode,
  Rollout,
  RolloutAction,
  RolloutDetails,
} from '@station/protocol/firmware-rollouts';
import { type Reading, useReading } from '../../api/reading.ts';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { firmwareKey, firmwareTypesKey, rolloutKey, rolloutsKey, withRollout } from './follow-firmware.ts';

export const useFirmwareTypes = (): Reading<Firmware[]> => useReading<Firmware[]>(firmwareTypesKey, '/api/firmware');

/** Newest first. */
export const useRollouts = (): Reading<Rollout[]> => useReading<Rollout[]>(rolloutsKey, '/api/firmware/rollouts');

export const useRollout = (id: string): Reading<RolloutDetails> =>
  useReading<RolloutDetails>(rolloutKey(id), `/api/firmware/rollouts/${id}`);

type Command<Answer, Input = void> = UseMutationResult<Answer, Problem, Input>;

export function useRolloutAction(id: string): Command<Rollout, RolloutAction> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (action) => session.call('POST', `/api/firmware/rollouts/${id}/${action}`),
    onSuccess: (changed: Rollout) =>
      queries.setQueryData<readonly Rollout[]>(rolloutsKey, (all) => all && withRollout(all, changed)),
    onSettled: () => queries.invalidateQueries({ queryKey: firmwareKey }),
  });
}

/** Begins a rollout of this version, whatever the devices run. */
export function useInstall(type: string): Command<RolloutDetails, string> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (version) => session.call('POST', '/api/firmware/rollouts', { body: { type, version } }),
    onSuccess: (made: RolloutDetails) => queries.setQueryData(rolloutKey(made.id), made),
    onSettled: () => queries.invalidateQueries({ queryKey: firmwareKey }),
  });
}

export function useChangeMode(type: string): Command<Firmware, FirmwareMode> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (mode) => session.call('PATCH', `/api/firmware/${encodeURIComponent(type)}`, { body: { mode } }),
    onSuccess: (changed: Firmware) =>
      queries.setQueryData<readonly Firmware[]>(firmwareTypesKey, (all) =>
        all?.map((one) => (one.type === type ? changed : one)),
      ),
  });
}
