import { type SubmitEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Problem } from '../../api/request.ts';
import { Button } from '../../ui/button.tsx';
import { textOf } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { checkWifi, noWifiFaults } from '../../ui/wifi-check.ts';
import { WifiFields } from '../../ui/wifi-fields.tsx';

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
  const [faults, setFaults] = useState(noWifiFaults);
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
      <WifiFields ssid={ssid} isOpen={isOpen} faults={faults} onOpen={setIsOpen} />
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
