import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useZones, zonesKey } from '../api/devices.ts';
import { useServices } from '../api/services.ts';
import { Field, Select } from './fields.tsx';

const newZone = 'new';

/** A zone that is being chosen, or named to be created. Until one is chosen, it follows the one that was given. */
export type ZoneChoice = {
  /** Id of a zone, empty for none, `new`. */
  value: string;
  newName: string;
  isMissing: boolean;
  /** Null: as it was given. */
  choose(value: string | null): void;
  rename(name: string): void;
  /** Marks a new zone without a name. True when nothing is wrong. */
  check(): boolean;
  /** Id of the chosen zone; a new one is created first. */
  resolve(): Promise<string | null>;
};

export function useZoneChoice(initial: string | null): ZoneChoice {
  const { session, queries } = useServices();
  const [chosen, setChosen] = useState<string | null>(null);
  const value = chosen ?? initial ?? '';
  const [newName, setNewName] = useState('');
  const [isMissing, setIsMissing] = useState(false);
  return {
    value,
    newName,
    isMissing,
    choose: setChosen,
    rename: setNewName,
    check: () => {
      const missing = value === newZone && newName.trim() === '';
      setIsMissing(missing);
      return !missing;
    },
    resolve: async () => {
      if (value !== newZone) return value === '' ? null : value;
      const made = await session.call('POST /api/zones', { body: { name: newName } });
      await queries.invalidateQueries({ queryKey: zonesKey });
      // If the rest fails, a second try must not create a second zone.
      setChosen(made.id);
      setNewName('');
      return made.id;
    },
  };
}

/** The zones of the station, none, or a new one with its name. */
export function ZoneField({ choice }: { choice: ZoneChoice }) {
  const { t } = useTranslation();
  const zones = useZones() ?? [];
  return (
    <>
      <Select
        label={t('devicePage.settings.zone')}
        value={choice.value}
        onChange={({ target }) => choice.choose(target.value)}
      >
        <option value="">{t('devicePage.settings.noZone')}</option>
        {zones.map((zone) => (
          <option key={zone.id} value={zone.id}>
            {zone.name}
          </option>
        ))}
        <option value={newZone}>{t('devicePage.settings.newZone')}</option>
      </Select>
      {choice.value === newZone && (
        <Field
          label={t('devicePage.settings.zoneName')}
          value={choice.newName}
          maxLength={100}
          onChange={({ target }) => choice.rename(target.value)}
          fault={choice.isMissing ? t('error.field.required') : null}
        />
      )}
    </>
  );
}
