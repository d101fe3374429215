import { useMutation } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { type Device, DevicePatch } from '@station/protocol/devices';
import { devicesKey } from '../../api/devices.ts';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { UsedBy } from '../../ui/used-by.tsx';
import { TimeAgo } from '../../ui/sentence.tsx';
import { useZoneChoice, ZoneField } from '../../ui/zone-field.tsx';

/** Name and zone of a device; a new zone is created with it. What is not touched follows changes of other people. */
export function SettingsCard({ device, usable }: { device: Device; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [typed, setTyped] = useState<string | null>(null);
  const name = typed ?? device.name;
  const zone = useZoneChoice(device.zoneId);
  const form = useForm({
    body: DevicePatch,
    fields: ['name'],
    check: zone.check,
    usable,
    send: async (texts) => {
      const body: DevicePatch = { ...texts, zoneId: await zone.resolve() };
      const changed = await session.call('PATCH /api/devices/:id', { params: { id: device.id }, body });
      queries.setQueryData<readonly Device[]>(devicesKey, (all) =>
        all?.map((one) => (one.id === device.id ? { ...one, name: changed.name, zoneId: changed.zoneId } : one)),
      );
      setTyped(null);
      zone.choose(null);
    },
  });
  return (
    <Card title={t('devicePage.settings.title')}>
      <form {...form.props} onChange={form.reset} className="space-y-4">
        <Field
          label={t('devicePage.settings.name')}
          {...form.field('name')}
          value={name}
          autoComplete="off"
          onChange={(event) => setTyped(event.target.value)}
        />
        <ZoneField choice={zone} />
        {form.problem && <ProblemNote problem={form.problem} />}
        <div className="flex flex-wrap items-center gap-4">
          <Button type="submit" busy={form.isBusy} disabled={!usable} onClick={() => undefined}>
            {t('devicePage.settings.save')}
          </Button>
          <p role="status" className="text-small text-ok">
            {form.isDone && t('devicePage.settings.saved')}
          </p>
        </div>
      </form>
    </Card>
  );
}

/** Type, firmware and id of the device, and the button that removes it. */
export function FactsCard({
  device,
  mayRemove,
  usable,
}: {
  device: Device;
  mayRemove: boolean;
  usable: boolean;
  /** What else its removal would change. */
}) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  return (
    <Card title={t('devicePage.facts.title')}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2">
        <Fact name={t('devicePage.facts.type')} value={nameOf(device.type)} />
        {device.firmwareVersion !== null && (
          <Fact name={t('devicePage.facts.firmware')} value={device.firmwareVersion} />
        )}
        {device.chip !== null && <Fact name={t('devicePage.facts.chip')} value={device.chip} />}
        <Fact name={t('devicePage.facts.id')} value={device.externalId} />
        <dt className="text-ink-soft">{t('devicePage.facts.added')}</dt>
        <dd>
          <TimeAgo at={device.createdAt} />
        </dd>
      </dl>
      {mayRemove && <Remove device={device} usable={usable} />}
    </Card>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="text-ink-soft">{name}</dt>
      <dd className="break-words">{value}</dd>
    </>
  );
}

/** How long the station keeps the login of a removed device that is offline (contracts, section 8). */
const loginKeptMs = 30 * 24 * 3_600_000;

function Remove({ device, usable }: { device: Device; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries, clock } = useServices();
  const [, navigate] = useLocation();
  const [question, ask] = useConfirm();
  const locale = useLocale();
  const until = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' }).format(clock.now() + loginKeptMs);
  const remove = useMutation({
    mutationFn: () => session.call('DELETE /api/devices/:id', { params: { id: device.id } }),
    onSuccess: () => {
      navigate('/');
      queries.setQueryData<readonly Device[]>(devicesKey, (all) => all?.filter(({ id }) => id !== device.id));
    },
  });
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
      run: () => remove.mutate(),
    });
  return (
    <div className="mt-4 space-y-3 border-t border-line pt-4">
      <Button busy={remove.isPending} disabled={!usable} className="w-full" onClick={askToRemove}>
        <Trash2 aria-hidden className="size-5" />
        {t('devicePage.remove.button')}
      </Button>
      {remove.error && <ProblemNote problem={asProblem(remove.error)} />}
      {question}
    </div>
  );
}
