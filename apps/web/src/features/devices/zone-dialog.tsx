import { useTranslation } from 'react-i18next';
import { type Device, NewZone, type Zone } from '@station/protocol/devices';
import { devicesKey, zonesKey } from '../../api/devices.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
import { UsedBy } from '../../ui/used-by.tsx';

/** Renames or removes a zone. */
export function ZoneDialog({ zone, onClose }: { zone: Zone; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [question, ask] = useConfirm();
  const setZones = (change: (zones: readonly Zone[]) => readonly Zone[]): void =>
    void queries.setQueryData<readonly Zone[]>(zonesKey, (zones) => zones && change(zones));
  const form = useForm({
    body: NewZone,
    fields: ['name'],
    send: (body) => session.call('PATCH /api/zones/:id', { params: { id: zone.id }, body }),
    onDone: (renamed) => {
      setZones((zones) => zones.map((one) => (one.id === zone.id ? renamed : one)));
      onClose();
    },
  });
  const askToRemove = (): void =>
    ask({
      title: t('home.zone.ask', { name: zone.name }),
      text: (
        <>
          <p>{t('home.zone.devicesStay')}</p>
          <UsedBy ids={[zone.id]} />
        </>
      ),
      confirm: t('home.zone.remove'),
      run: async () => {
        await session.call('DELETE /api/zones/:id', { params: { id: zone.id } });
        setZones((zones) => zones.filter(({ id }) => id !== zone.id));
        queries.setQueryData<readonly Device[]>(devicesKey, (devices) =>
          devices?.map((device) => (device.zoneId === zone.id ? { ...device, zoneId: null } : device)),
        );
        onClose();
      },
    });
  if (question) return question;
  return (
    <FormDialog
      form={form}
      title={t('home.zone.title', { name: zone.name })}
      submit={t('home.zone.save')}
      actions={
        <Button disabled={form.isBusy} onClick={askToRemove}>
          {t('home.zone.remove')}
        </Button>
      }
      onClose={onClose}
    >
      <Field label={t('home.zone.name')} {...form.field('name')} defaultValue={zone.name} />
    </FormDialog>
  );
}
