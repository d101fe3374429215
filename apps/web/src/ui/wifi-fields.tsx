import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  isSsidTooLong,
  longestWifiPassword,
  type Security,
  ssidText,
  wifiPasswordProblem,
} from '@station/protocol/wifi-password';
import { Field } from './fields.tsx';
import type { Form } from './form.ts';

/** What `useForm` needs for `WifiFields`. */
export const wifiForm = {
  body: { properties: { ssid: ssidText, password: { maxLength: longestWifiPassword } } },
  fields: ['ssid', 'password'],
} as const;

/** Beyond the limits of the body. @param security null: not known. The station may know it, and refuse what this cannot. */
export function useWifiChecks(security: Security | null = null) {
  const { t } = useTranslation();
  return {
    ssid: (ssid: string): string | null => (isSsidTooLong(ssid) ? t('network.join.tooLong') : null),
    password: (password: string): string | null => {
      const problem = wifiPasswordProblem(security, password, { mayBeOpen: false });
      if (problem === 'password_missing' && security === null) return t('settings.wifi.missing');
      return problem && t(`network.join.problem.${problem}`);
    },
  };
}

type WifiForm = Pick<Form<'ssid' | 'password', unknown>, 'field'>;

/**
 * The inputs `ssid` and `password` of a form. They are not kept in the state of the page. An open network must be confirmed, and then there is
 * no `password`: an empty one may only mean that a person changed the name and expected the password to stay.
 */
export function WifiFields({
  form,
  ssid,
  known,
  openHelp,
}: {
  form: WifiForm;
  /** The name to begin with. */
  ssid: string | null;
  /** Names to choose from. */
  known?: readonly string[];
  /** What to know of a network without a password. */
  openHelp?: string;
}) {
  const { t } = useTranslation();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Field
        label={t('settings.wifi.ssid')}
        {...form.field('ssid')}
        verbatim
        defaultValue={ssid ?? ''}
        autoFocus
        isCode
        list={known && id}
      />
      {known && (
        <datalist id={id}>
          {known.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
      {!isOpen && <WifiPasswordField form={form} help={t('settings.wifi.range')} />}
      <label className="flex min-h-11 cursor-pointer items-center gap-3">
        <input
          type="checkbox"
          className="size-5 shrink-0 accent-(--accent)"
          checked={isOpen}
          onChange={({ target }) => setOpen(target.checked)}
        />
        {t('settings.wifi.withoutPassword')}
      </label>
      {isOpen && openHelp && <p className="text-small text-ink-soft">{openHelp}</p>}
    </>
  );
}

export function WifiPasswordField({
  form,
  help,
  autoFocus = false,
}: {
  form: WifiForm;
  help?: string;
  autoFocus?: boolean;
}) {
  const { t } = useTranslation();
  return (
    <Field
      label={t('settings.wifi.password')}
      {...form.field('password')}
      type="password"
      autoFocus={autoFocus}
      help={help}
    />
  );
}
