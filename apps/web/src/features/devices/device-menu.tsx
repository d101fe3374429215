import { Ellipsis, LayoutGrid, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { type Device, DevicePatch } from '@station/protocol/devices';
import { devicesKey } from '../../api/devices.ts';
import { useServices } from '../../api/services.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { useConfirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
import { Menu } from '../../ui/menu.tsx';
import { UsedBy } from '../../ui/used-by.tsx';
import { ZoneOfDevices } from './zone-of-devices.tsx';

/** What is done with a device seldom: another name, another zone, its removal. */
export function DeviceMenu({ device }: { device: Device }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<'name' | 'zone' | null>(null);
  const [question, askToRemove] = useRemoval(device);
  const close = (): void => setOpen(null);
  return (
    <>
      <Menu
        label={t('devicePage.more')}
        items={[
          { label: t('devicePage.rename'), icon: Pencil, onSelect: () => setOpen('name') },
          { label: t('devicePage.move'), icon: LayoutGrid, onSelect: () => setOpen('zone') },
          { label: t('devicePage.remove.button'), icon: Trash2, onSelect: askToRemove },
        ]}
        className="grid size-11 place-items-center rounded-xl text-ink-soft hover:text-ink"
      >
        <Ellipsis aria-hidden className="size-6" />
      </Menu>
      {open === 'name' && <RenameDialog device={device} onClose={close} />}
      {open === 'zone' && <ZoneOfDevices devices={[device]} onClose={close} />}
      {question}
    </>
  );
}

function RenameDialog({ device, onClose }: { device: Device; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const form = useForm({
    body: DevicePatch,
    fields: ['name'],
    send: (body) => session.call('PATCH /api/devices/:id', { params: { id: device.id }, body }),
    onDone: ({ name }) => {
      const rename = (one: Device): Device => ({ ...one, name });
      queries.setQueryData<readonly Device[]>(devicesKey, (all) =>
        all?.map((one) => (one.id === device.id ? rename(one) : one)),
      );
      onClose();
    },
  });
  return (
    <FormDialog
      form={form}
      title={t('devicePage.renameTitle', { name: device.name })}
      submit={t('devicePage.settings.save')}
      onClose={onClose}
    >
      <Field label={t('devicePage.settings.name')} {...form.field('name')} defaultValue={device.name} />
    </FormDialog>
  );
}

/** How long the station keeps the login of a removed device that is offline (contracts, section 8). */
const loginKeptMs = 30 * 24 * 3_600_000;

function useRemoval(device: Device) {
  const { t } = useTranslation();
  const { session, queries, clock } = useServices();
  const [, navigate] = useLocation();
  const locale = useLocale();
  const [question, ask] = useConfirm();
  const until = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' }).format(clock.now() + loginKeptMs);
  const askToRemove = (): void =>
    ask({
      title: t('devicePage.remove.title', { name: device.name }),
      text: (
        <>
          <p>{t('devicePage.remove.history')}</p>
          <p>
            {device.status === 'online'
              ? t('devicePage.remove.online')
              : t('devicePage.remove.offline', { date: until })}
          </p>
          <UsedBy ids={[device.id]} />
          <p>{t('devicePage.remove.again')}</p>
        </>
      ),
      confirm: t('devicePage.remove.confirm'),
      keep: t('devicePage.remove.keep'),
      run: async () => {
        await session.call('DELETE /api/devices/:id', { params: { id: device.id } });
        navigate('/');
        queries.setQueryData<readonly Device[]>(devicesKey, (all) => all?.filter(({ id }) => id !== device.id));
      },
    });
  return [question, askToRemove] as const;
}
