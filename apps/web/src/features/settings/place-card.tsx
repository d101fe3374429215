import { useMutation, useQuery } from '@tanstack/react-query';
import { LocateFixed } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Place, Station, StationPatch } from '@station/protocol/rest';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { degreesOf, rounded } from './place-form.ts';
import { cityOf } from './settings-form.ts';

/** Where the station is, for sunrise and sunset. */
export function PlaceCard({ station, usable }: { station: Station; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [latitude, setLatitude] = useState(textOf(station.place?.latitude));
  const [longitude, setLongitude] = useState(textOf(station.place?.longitude));
  const [isChecked, setChecked] = useState(false);
  const save = useMutation({
    mutationFn: (place: Place | null) => session.call('PATCH /api/station', { body: { place } satisfies StationPatch }),
    onSuccess: (changed) => queries.setQueryData(['station'], changed),
  });
  const show = ({ latitude: north, longitude: east }: Place): void => {
    setLatitude(textOf(north));
    setLongitude(textOf(east));
  };
  const fill = (place: Place): void => {
    show(rounded(place));
    save.reset();
  };
  const north = degreesOf(latitude, 90);
  const east = degreesOf(longitude, 180);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setChecked(true);
    if (north === null || east === null || !usable || save.isPending) return;
    const place = rounded({ latitude: north, longitude: east });
    save.mutate(place, { onSuccess: () => show(place) });
  };
  const forget = (): void => {
    setLatitude('');
    setLongitude('');
    setChecked(false);
    save.mutate(null);
  };
  const faultOf = (value: number | null, most: number): string | null =>
    isChecked && value === null ? t('settings.place.wrong', { most }) : null;
  return (
    <Card title={t('settings.place.title')}>
      <form noValidate onSubmit={submit} onChange={() => save.reset()} className="space-y-4">
        <p className="text-ink-soft">{t('settings.place.help')}</p>
        <CityChoice onChoose={fill} />
        <div className="grid grid-cols-2 gap-4">
          <Field
            label={t('settings.place.latitude')}
            value={latitude}
            inputMode="text"
            autoComplete="off"
            onChange={(event) => setLatitude(event.target.value)}
            fault={faultOf(north, 90)}
          />
          <Field
            label={t('settings.place.longitude')}
            value={longitude}
            inputMode="text"
            autoComplete="off"
            onChange={(event) => setLongitude(event.target.value)}
            fault={faultOf(east, 180)}
          />
        </div>
        <HereButton onPlace={fill} />
        {save.error && <ProblemNote problem={asProblem(save.error)} />}
        <div className="flex flex-wrap items-center gap-4">
          <Button type="submit" busy={save.isPending} disabled={!usable} onClick={() => undefined}>
            {t('settings.save')}
          </Button>
          {station.place !== null && (
            <Button kind="quiet" disabled={!usable} onClick={forget}>
              {t('settings.place.forget')}
            </Button>
          )}
          <p role="status" className="text-small text-ok">
            {save.isSuccess && t('settings.saved')}
          </p>
        </div>
      </form>
    </Card>
  );
}

const textOf = (degrees: number | undefined): string => (degrees === undefined ? '' : String(degrees));

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
