import { useTranslation } from 'react-i18next';
import type { NetworkState } from '@station/protocol/agent-network';
import { useServices } from '../../api/services.ts';
import { orElse } from '../../i18n/words.ts';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
import { useWifiChecks, WifiFields, wifiForm, WifiPasswordField } from '../../ui/wifi-fields.tsx';
import { chosenRequest, networkKey, type ShownNetwork, typedRequest } from './network-view.ts';

/** Asks for the password, says what happens, and sends the station into another network. */
export function JoinDialog({ chosen, onClose }: { chosen: ShownNetwork | 'other'; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const form = useForm({
    ...wifiForm,
    checks: useWifiChecks(chosen === 'other' ? null : chosen.security),
    send: async ({ ssid, password }) => {
      const body = chosen === 'other' ? typedRequest(ssid, password || null) : chosenRequest(chosen, password);
      await session.call('POST /api/system/network/join', { body });
      return chosen === 'other' ? ssid : chosen.name;
    },
    onDone: (name) => {
      // Shown at once: the next read may take a minute.
      queries.setQueryData<NetworkState>(
        networkKey,
        (state) => state && { ...state, joining: name, blocker: 'joining' },
      );
      onClose();
    },
    explain: ({ reason }) =>
      reason && (orElse(t, `network.join.problem.${reason}`, '') || orElse(t, `network.blocked.${reason}`, '') || null),
  });
  return (
    <FormDialog
      form={form}
      title={chosen === 'other' ? t('network.join.titleOther') : t('network.join.title', { name: chosen.name })}
      lead={
        <>
          <p>{t('network.join.away')}</p>
          <p>{t('network.join.back')}</p>
        </>
      }
      submit={t('network.join.submit')}
      keep={t('network.join.keep')}
      onClose={onClose}
    >
      {chosen === 'other' ? (
        <WifiFields form={form} ssid={null} openHelp={t('network.join.open')} />
      ) : chosen.isFree ? (
        <p className="text-small text-ink-soft">{t('network.join.open')}</p>
      ) : (
        <WifiPasswordField form={form} autoFocus />
      )}
    </FormDialog>
  );
}
