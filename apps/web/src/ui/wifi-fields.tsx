import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { longestWifiPassword } from '@station/protocol/wifi-password';
import { Field } from './fields.tsx';
import type { WifiFaults } from './wifi-check.ts';

/** The inputs `ssid` and `password` of a form. They are not kept in the state of the page. */
export function WifiFields({
  ssid,
  known,
  isOpen,
  faults,
  onOpen,
}: {
  /** The name to begin with. */
  ssid: string | null;
  /** Names to choose from. */
  known?: readonly string[];
  /** Whether the network has no password. */
  isOpen: boolean;
  faults: WifiFaults;
  onOpen: (isOpen: boolean) => void;
}) {
  const { t } = useTranslation();
  const id = useId();
  return (
    <>
      <Field
        label={t('settings.wifi.ssid')}
        name="ssid"
        defaultValue={ssid ?? ''}
        autoFocus
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={32}
        list={known && id}
        fault={faults.ssid ? t('error.field.required') : null}
      />
      {known && (
        <datalist id={id}>
          {known.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
      {!isOpen && (
        <Field
          label={t('settings.wifi.password')}
          name="password"
          type="password"
          autoComplete="off"
          maxLength={longestWifiPassword}
          help={t('settings.wifi.range')}
          fault={
            faults.password &&
            t(
              faults.password === 'password_missing'
                ? 'settings.wifi.missing'
                : `network.join.problem.${faults.password}`,
            )
          }
        />
      )}
      <label className="flex min-h-11 cursor-pointer items-center gap-3">
        <input
          type="checkbox"
          className="size-5 shrink-0 accent-(--accent)"
          checked={isOpen}
          onChange={({ target }) => onOpen(target.checked)}
        />
        {t('settings.wifi.withoutPassword')}
      </label>
    </>
  );
}
