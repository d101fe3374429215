import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { devicesKey, useZones } from '../../api/devices.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useZoneChoice, ZoneField } from '../../ui/zone-field.tsx';
import { callForEach, type Failed } from './many-calls.ts';

type Moved = Pick<Device, 'id' | 'zoneId'>;

/** The zone of one or of many devices; the frame offers the way back. */
export function ZoneOfDevices({
  devices,
  onClose,
}: {
  devices: readonly Device[];
  onClose: (isDone: boolean) => void;
}) {
  const { t } = useTranslation();
  const { toast } = useServices();
  const zones = useZones() ?? [];
  const [first] = devices;
  const zone = useZoneChoice(first && devices.every(({ zoneId }) => zoneId === first.zoneId) ? first.zoneId : null);
  const [done, setDone] = useState(0);
  const setZones = useSetZones();
  const move = useMutation({
    mutationFn: async (): Promise<Failed | null> => {
      const zoneId = await zone.resolve();
      const moving = devices.filter((one) => one.zoneId !== zoneId);
      const failed = await setZones(
        moving.map(({ id }) => ({ id, zoneId })),
        setDone,
      );
      const name = zones.find(({ id }) => id === zoneId)?.name ?? zone.newName;
      if (failed === null && moving.length > 0) {
        toast.set({
          words:
            zoneId === null
              ? t('devices.many.unzoned', { count: moving.length })
              : t('devices.many.moved', { count: moving.length, zone: name }),
          undo: async () => {
            const kept = await setZones(moving);
            if (kept !== null) throw kept.problem;
          },
        });
      }
      return failed;
    },
    onSuccess: (failed) => failed === null && onClose(true),
  });
  const save = (): void => {
    if (zone.check() && !move.isPending) move.mutate();
  };
  return (
    <Dialog
      title={t('devices.many.zoneTitle', { count: devices.length })}
      onClose={() => onClose(false)}
      actions={
        <>
          <Button kind="primary" busy={move.isPending} onClick={save}>
            {move.isPending ? t('devices.many.progress', { done, total: devices.length }) : t('devices.many.move')}
          </Button>
          <Button onClick={() => onClose(false)}>{t('action.cancel')}</Button>
        </>
      }
    >
      <ZoneField choice={zone} />
      {move.data && <FailedNote failed={move.data} />}
      <ProblemNote error={move.error} />
    </Dialog>
  );
}

/** Moves each device into its zone. Null: all of them are there. */
function useSetZones(): (wanted: readonly Moved[], onDone?: (done: number) => void) => Promise<Failed | null> {
  const { session, queries } = useServices();
  return (wanted, onDone = () => undefined) => {
    const zoneOf = new Map(wanted.map(({ id, zoneId }) => [id, zoneId] as const));
    const change = async (id: string): Promise<void> => {
      const zoneId = zoneOf.get(id) ?? null;
      await session.call('PATCH /api/devices/:id', { params: { id }, body: { zoneId } });
      const moved = (one: Device): Device => ({ ...one, zoneId });
      queries.setQueryData<readonly Device[]>(devicesKey, (all) =>
        all?.map((one) => (one.id === id ? moved(one) : one)),
      );
    };
    return callForEach([...zoneOf.keys()], change, onDone);
  };
}

/** Which of many calls failed, and why. */
export function FailedNote({ failed }: { failed: Failed }) {
  const { t } = useTranslation();
  return (
    <>
      <p className="font-strong">{t('devices.many.failed', { count: failed.ids.length })}</p>
      <ProblemNote error={failed.problem} />
    </>
  );
}
