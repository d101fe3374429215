import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Station, StationPatch } from '@station/protocol/rest';
import { useServices, useTick } from '../../api/services.ts';
import { stationKey } from '../../api/station.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { zoneToday } from '../../i18n/time-zones.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { cityOf, offsetOf, otherZoneHere, timeIn, zoneGroups } from './settings-form.ts';

/** Name and time zone. Who may not change them reads them. */
export function StationCard({ station, mayManage, usable }: { station: Station; mayManage: boolean; usable: boolean }) {
  const { t } = useTranslation();
  if (mayManage) return <Form station={station} usable={usable} />;
  return (
    <Card title={t('settings.station.title')}>
      <dl className="space-y-3">
        <div>
          <dt className="text-small text-ink-soft">{t('settings.station.name')}</dt>
          <dd className="font-strong">{station.name}</dd>
        </div>
        <div>
          <dt className="text-small text-ink-soft">{t('settings.station.timeZone')}</dt>
          <dd className="font-strong">{zoneToday(station.timeZone)}</dd>
        </div>
      </dl>
      <p className="mt-4 border-t border-line pt-4 text-ink-soft">{t('settings.readOnly')}</p>
    </Card>
  );
}

function Form({ station, usable }: { station: Station; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  // Only what was touched is sent: the rest may have been changed elsewhere.
  const [touched, setTouched] = useState<Pick<StationPatch, 'name' | 'timeZone'>>({});
  const { name, timeZone } = { ...station, ...touched };
  const form = useForm({
    body: StationPatch,
    fields: ['name'],
    usable,
    send: async () =>
      Object.keys(touched).length === 0 ? station : session.call('PATCH /api/station', { body: touched }),
    onDone: (changed) => {
      queries.setQueryData(stationKey, changed);
      setTouched({});
    },
  });
  return (
    <Card title={t('settings.station.title')}>
      <form {...form.props} className="space-y-4">
        <Field
          label={t('settings.station.name')}
          {...form.field('name')}
          value={name}
          onChange={(event) => setTouched({ ...touched, name: event.target.value })}
        />
        <ZoneChoice
          value={zoneToday(timeZone)}
          current={zoneToday(station.timeZone)}
          onChange={(zone) => setTouched({ ...touched, timeZone: zone })}
        />
        <FormEnd form={form} submit={t('settings.save')} done={t('settings.saved')} usable={usable} />
      </form>
    </Card>
  );
}

function ZoneChoice({
  value,
  current,
  onChange,
}: {
  value: string;
  current: string;
  onChange: (zone: string) => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { clock } = useServices();
  useTick(10_000);
  const groups = useMemo(() => zoneGroups(current, clock.now()), [current, clock]);
  const here = otherZoneHere(value);
  const time = timeIn(value, clock.now(), locale);
  return (
    <div className="space-y-2">
      <Select
        label={t('settings.station.timeZone')}
        help={time === null ? undefined : t('settings.station.timeNow', { time })}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        {groups.map(({ area, zones }) => (
          <optgroup key={area} label={area}>
            {zones.map(({ name, city, offset }) => (
              <option key={name} value={name}>
                {offset === '' ? city : `${city} (${offset})`}
              </option>
            ))}
          </optgroup>
        ))}
      </Select>
      {here !== null && (
        <Button kind="quiet" className="-ml-4" onClick={() => onChange(here)}>
          {t('settings.station.zoneHere', { zone: `${cityOf(here)} (${offsetOf(here, clock.now())})` })}
        </Button>
      )}
    </div>
  );
}
