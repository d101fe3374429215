import { type SubmitEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Problem } from '../../api/request.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { textOf } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { checkWifi } from './settings-form.ts';

/** Name and password of a network. An open one must be confirmed. */
export function WifiForm({
  ssid,
  submit,
  usable,
  busy,
  problem,
  onSubmit,
  onCancel,
}: {
  /** The name to begin with. */
  ssid: string | null;
  /** What the button says. */
  submit: string;
  usable: boolean;
  busy: boolean;
  problem: Problem | null;
  onSubmit: (network: { ssid: string; password: string }) => void;
  onCancel: () => void;
}) {
  const { t } = useTranslation();
  const [faults, setFaults] = useState<ReturnType<typeof checkWifi>>({ ssid: null, password: null });
  const [isOpen, setIsOpen] = useState(false);
  const check = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const wanted = { ssid: textOf(form, 'ssid'), password: textOf(form, 'password') };
    const found = checkWifi(wanted, isOpen);
    setFaults(found);
    if (found.ssid === null && found.password === null && usable && !busy) onSubmit(wanted);
  };
  return (
    <form noValidate onSubmit={check} className="space-y-4 border-t border-line pt-4">
      <Field
        label={t('settings.wifi.ssid')}
        name="ssid"
        defaultValue={ssid ?? ''}
        autoFocus
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={32}
        fault={faults.ssid ? t('error.field.required') : null}
      />
      {!isOpen && (
        <Field
          label={t('settings.wifi.password')}
          name="password"
          type="password"
          autoComplete="off"
          maxLength={64}
          fault={faults.password && t(faults.password === 'short' ? 'settings.wifi.short' : 'settings.wifi.missing')}
        />
      )}
      <label className="flex min-h-11 cursor-pointer items-center gap-3">
        <input
          type="checkbox"
          className="size-5 shrink-0 accent-(--accent)"
          checked={isOpen}
          onChange={({ target }) => setIsOpen(target.checked)}
        />
        {t('settings.wifi.withoutPassword')}
      </label>
      {problem && <ProblemNote problem={problem} />}
      <div className="flex flex-wrap gap-3">
        <Button kind="primary" type="submit" busy={busy} disabled={!usable} onClick={() => undefined}>
          {submit}
        </Button>
        <Button onClick={onCancel}>{t('action.cancel')}</Button>
      </div>
    </form>
  );
}
