import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device, Zone } from '@station/protocol/devices';
import { devicesKey, zonesKey } from '../../api/devices.ts';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { UsedBy } from '../../ui/used-by.tsx';

/** Renames or removes a zone. */
export function ZoneDialog({ zone, onClose }: { zone: Zone; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [name, setName] = useState(zone.name);
  const [missing, setMissing] = useState(false);
  const [isRemoving, setRemoving] = useState(false);
  const setZones = (change: (zones: readonly Zone[]) => readonly Zone[]): void =>
    void queries.setQueryData<readonly Zone[]>(zonesKey, (zones) => zones && change(zones));
  const rename = useMutation({
    mutationFn: () => session.call('PATCH /api/zones/:id', { params: { id: zone.id }, body: { name } }),
    onSuccess: (renamed) => {
      setZones((zones) => zones.map((one) => (one.id === zone.id ? renamed : one)));
      onClose();
    },
  });
  const remove = useMutation({
    mutationFn: () => session.call('DELETE /api/zones/:id', { params: { id: zone.id } }),
    onSuccess: () => {
      setZones((zones) => zones.filter(({ id }) => id !== zone.id));
      queries.setQueryData<readonly Device[]>(devicesKey, (devices) =>
        devices?.map((device) => (device.zoneId === zone.id ? { ...device, zoneId: null } : device)),
      );
      onClose();
    },
  });
  const save = (): void => {
    setMissing(name.trim() === '');
    if (name.trim() !== '' && !rename.isPending) rename.mutate();
  };
  if (isRemoving) {
    return (
      <Dialog
        title={t('home.zone.ask', { name: zone.name })}
        onClose={onClose}
        actions={
          <>
            <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
              {t('home.zone.remove')}
            </Button>
            <Button onClick={onClose}>{t('action.cancel')}</Button>
          </>
        }
      >
        <p>{t('home.zone.devicesStay')}</p>
        <UsedBy ids={[zone.id]} />
        {remove.error && <ProblemNote problem={asProblem(remove.error)} />}
      </Dialog>
    );
  }
  return (
    <Dialog
      title={t('home.zone.title', { name: zone.name })}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" busy={rename.isPending} onClick={save}>
            {t('home.zone.save')}
          </Button>
          <Button disabled={rename.isPending} onClick={() => setRemoving(true)}>
            {t('home.zone.remove')}
          </Button>
          <Button kind="quiet" onClick={onClose}>
            {t('action.cancel')}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Field
          label={t('home.zone.name')}
          value={name}
          maxLength={100}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
          fault={missing ? t('error.field.required') : null}
        />
      </form>
      {rename.error && <ProblemNote problem={asProblem(rename.error)} />}
    </Dialog>
  );
}
