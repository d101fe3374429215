import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device, DevicePatch, Zone } from '@station/protocol/devices';
import { devicesKey, zonesKey } from '../../api/device-keys.ts';
import { asProblem } from '../../api/problem.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';

const newZone = 'new';

/** Name and zone of a device; a zone that is missing is made on the way. */
export function SettingsCard({ device, zones, usable }: { device: Device; zones: readonly Zone[]; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [name, setName] = useState(device.name);
  const [zone, setZone] = useState(device.zoneId ?? '');
  const [zoneName, setZoneName] = useState('');
  const [missing, setMissing] = useState<{ name: boolean; zone: boolean }>({ name: false, zone: false });
  const save = useMutation({
    mutationFn: async () => {
      const zoneId = zone === newZone ? await makeZone() : zone === '' ? null : zone;
      const body: DevicePatch = { name, zoneId };
      const changed = await session.call<Device>('PATCH', `/api/devices/${device.id}`, { body });
      queries.setQueryData<readonly Device[]>(devicesKey, (all) =>
        all?.map((one) => (one.id === device.id ? { ...one, name: changed.name, zoneId: changed.zoneId } : one)),
      );
      setName(changed.name);
    },
  });
  const makeZone = async (): Promise<string> => {
    const made = await session.call<Zone>('POST', '/api/zones', { body: { name: zoneName } });
    await queries.invalidateQueries({ queryKey: zonesKey });
    // Should the rest fail, a second try must not make a second zone.
    setZone(made.id);
    setZoneName('');
    return made.id;
  };
  const touched = (): void => save.reset();
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const faults = { name: name.trim() === '', zone: zone === newZone && zoneName.trim() === '' };
    setMissing(faults);
    if (!faults.name && !faults.zone && usable && !save.isPending) save.mutate();
  };
  return (
    <Card title={t('device.settings.title')}>
      <form noValidate onSubmit={submit} onChange={touched} className="space-y-4">
        <Field
          label={t('device.settings.name')}
          value={name}
          maxLength={100}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
          fault={missing.name ? t('error.field.required') : null}
        />
        <ZoneChoice zones={zones} value={zone} onChange={setZone} />
        {zone === newZone && (
          <Field
            label={t('device.settings.zoneName')}
            value={zoneName}
            maxLength={100}
            autoComplete="off"
            onChange={(event) => setZoneName(event.target.value)}
            fault={missing.zone ? t('error.field.required') : null}
          />
        )}
        {save.error && <ProblemNote problem={asProblem(save.error)} />}
        <div className="flex flex-wrap items-center gap-4">
          <Button type="submit" busy={save.isPending} disabled={!usable} onClick={() => undefined}>
            {t('device.settings.save')}
          </Button>
          <p role="status" className="text-small text-ok">
            {save.isSuccess && t('device.settings.saved')}
          </p>
        </div>
      </form>
    </Card>
  );
}

function ZoneChoice({
  zones,
  value,
  onChange,
}: {
  zones: readonly Zone[];
  value: string;
  onChange: (value: string) => void;
}) {
  const { t } = useTranslation();
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block font-strong">
        {t('device.settings.zone')}
      </label>
      <select
        id={id}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="block min-h-12 w-full rounded-xl border border-line-strong bg-surface px-3 py-2 text-ink"
      >
        <option value="">{t('device.settings.noZone')}</option>
        {zones.map((zone) => (
          <option key={zone.id} value={zone.id}>
            {zone.name}
          </option>
        ))}
        <option value={newZone}>{t('device.settings.newZone')}</option>
      </select>
    </div>
  );
}
