import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NetworkJoinRequest, NetworkState } from '@station/protocol/agent-network';
import { longestWifiPassword } from '@station/protocol/wifi-password';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { orElse } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { checkWifi, noWifiFaults } from '../../ui/wifi-check.ts';
import { WifiFields } from '../../ui/wifi-fields.tsx';
import { chosenRequest, isNameTooLong, networkKey, type ShownNetwork, typedRequest } from './network-view.ts';

/** Asks for the password, says what happens, and sends the station into another network. */
export function JoinDialog({ chosen, onClose }: { chosen: ShownNetwork | 'other'; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const formId = useId();
  const [isOpen, setIsOpen] = useState(chosen !== 'other' && chosen.isFree);
  const [faults, setFaults] = useState(noWifiFaults);
  const [isLong, setIsLong] = useState(false);
  const join = useMutation<unknown, Problem, { name: string; body: NetworkJoinRequest }>({
    mutationFn: ({ body }) => session.call('POST /api/system/network/join', { body }),
    onSuccess: (_answer, { name }) => {
      // Shown at once: the next read may take a minute.
      queries.setQueryData<NetworkState>(
        networkKey,
        (state) => state && { ...state, joining: name, blocker: 'joining' },
      );
      onClose();
    },
    gcTime: 0,
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const given = (field: string): string => (form.get(field) as string | null) ?? '';
    const name = chosen === 'other' ? given('ssid') : chosen.name;
    const password = given('password');
    const found = checkWifi({ ssid: name, password }, isOpen, chosen === 'other' ? null : chosen.security);
    const tooLong = chosen === 'other' && isNameTooLong(name);
    setFaults(found);
    setIsLong(tooLong);
    if (found.ssid || found.password || tooLong || join.isPending) return;
    const body = chosen === 'other' ? typedRequest(name, isOpen ? null : password) : chosenRequest(chosen, password);
    join.mutate({ name, body });
  };
  const reason = join.error?.reason ?? null;
  const words =
    reason && (orElse(t, `network.join.problem.${reason}`, '') || orElse(t, `network.blocked.${reason}`, ''));
  return (
    <Dialog
      title={chosen === 'other' ? t('network.join.titleOther') : t('network.join.title', { name: chosen.name })}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" type="submit" form={formId} busy={join.isPending}>
            {t('network.join.submit')}
          </Button>
          <Button onClick={onClose}>{t('network.join.keep')}</Button>
        </>
      }
    >
      <p>{t('network.join.away')}</p>
      <p>{t('network.join.back')}</p>
      <form id={formId} className="space-y-4 pt-2" onSubmit={submit} noValidate>
        {chosen === 'other' ? (
          <WifiFields ssid={null} isOpen={isOpen} faults={faults} onOpen={setIsOpen} />
        ) : (
          !chosen.isFree && (
            <Field
              label={t('settings.wifi.password')}
              name="password"
              type="password"
              autoFocus
              autoComplete="off"
              maxLength={longestWifiPassword}
              fault={faults.password && t(`network.join.problem.${faults.password}`)}
            />
          )
        )}
        {isLong && <p className="text-small text-fault">{t('network.join.tooLong')}</p>}
        {isOpen && <p className="text-small text-ink-soft">{t('network.join.open')}</p>}
      </form>
      {words ? (
        <p role="alert" className="text-fault">
          {words}
        </p>
      ) : (
        join.error && <ProblemNote problem={join.error} />
      )}
    </Dialog>
  );
}
