import { useQuery } from '@tanstack/react-query';
import { LocateFixed } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Place, type Station } from '@station/protocol/rest';
import { useServices } from '../../api/services.ts';
import { stationKey } from '../../api/station.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { Field } from '../../ui/fields.tsx';
import { type Texts, useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { degreesOf, rounded } from './place-form.ts';
import { cityOf } from './settings-form.ts';

/** Where the station is, for sunrise and sunset. */
export function PlaceCard({ station, usable }: { station: Station; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const { place } = station;
  const check =
    (most: 90 | 180) =>
    (text: string, texts: Texts<keyof Place>): string | null =>
      degreesOf(text, most) !== null || (place !== null && texts.latitude === '' && texts.longitude === '')
        ? null
        : t('settings.place.wrong', { most });
  const form = useForm({
    body: Place,
    fields: ['latitude', 'longitude'],
    checks: { latitude: check(90), longitude: check(180) },
    usable,
    send: (texts) => {
      const latitude = degreesOf(texts.latitude, 90);
      const longitude = degreesOf(texts.longitude, 180);
      // Both fields are empty.
      const isForgotten = latitude === null || longitude === null;
      const body = { place: isForgotten ? null : rounded({ latitude, longitude }) };
      return session.call('PATCH /api/station', { body });
    },
    onDone: (changed) => {
      queries.setQueryData(stationKey, changed);
      form.props.ref.current?.reset();
    },
  });
  const fill = (chosen: Place): void => {
    const { latitude, longitude } = rounded(chosen);
    form.fill({ latitude: String(latitude), longitude: String(longitude) });
  };
  const forget = (): void => {
    form.fill({ latitude: '', longitude: '' });
    form.props.ref.current?.requestSubmit();
  };
  return (
    <Card title={t('settings.place.title')}>
      <form {...form.props} className="space-y-4">
        <p className="text-ink-soft">{t('settings.place.help')}</p>
        <CityChoice onChoose={fill} />
        <div className="grid grid-cols-2 gap-4">
          {(['latitude', 'longitude'] as const).map((name) => (
            <Field
              key={name}
              label={t(`settings.place.${name}`)}
              {...form.field(name)}
              defaultValue={place?.[name] ?? ''}
            />
          ))}
        </div>
        <HereButton onPlace={fill} />
        <FormEnd form={form} submit={t('settings.save')} done={t('settings.saved')} usable={usable}>
          {place !== null && (
            <Button kind="quiet" disabled={!usable} onClick={forget}>
              {t('settings.place.forget')}
            </Button>
          )}
        </FormEnd>
      </form>
    </Card>
  );
}

/** A city nearby: the sun is a few minutes off at most, where the city is not far. */
function CityChoice({ onChoose }: { onChoose: (place: Place) => void }) {
  const { t } = useTranslation();
  const { data: cities = [] } = useQuery({
    queryKey: ['cities'],
    queryFn: async () => (await import('./cities.ts')).cities,
    staleTime: Infinity,
  });
  const [zone, setZone] = useState('');
  const options = cities
    .map((city) => ({ value: city.zone, label: cityOf(city.zone), hint: city.zone.split('/')[0] ?? '' }))
    .sort((one, other) => one.label.localeCompare(other.label));
  return (
    <div>
      <p aria-hidden className="mb-1 font-strong">
        {t('settings.place.city')}
      </p>
      <Combobox
        label={t('settings.place.city')}
        value={zone}
        shown={zone === '' ? t('settings.place.choose') : cityOf(zone)}
        groups={[{ label: t('settings.place.cities'), options }]}
        onChange={(next) => {
          setZone(next);
          const city = cities.find((one) => one.zone === next);
          if (city) onChoose(city);
        }}
      />
    </div>
  );
}

/** Browsers tell where they are only to pages that came over HTTPS. */
function HereButton({ onPlace }: { onPlace: (place: Place) => void }) {
  const { t } = useTranslation();
  const [state, setState] = useState<'idle' | 'asking' | 'refused'>('idle');
  if (!isSecureContext || !('geolocation' in navigator)) return null;
  const ask = (): void => {
    setState('asking');
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude } }) => {
        setState('idle');
        onPlace({ latitude, longitude });
      },
      () => setState('refused'),
      { timeout: 20_000, maximumAge: 600_000 },
    );
  };
  return (
    <div>
      <Button kind="quiet" className="-ml-4" busy={state === 'asking'} onClick={ask}>
        <LocateFixed aria-hidden className="size-5" />
        {t('settings.place.here')}
      </Button>
      <p role="status" className="text-small text-ink-soft empty:hidden">
        {state === 'refused' && t('settings.place.refused')}
      </p>
    </div>
  );
}
