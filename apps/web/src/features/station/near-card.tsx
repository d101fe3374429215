import { useMutation } from '@tanstack/react-query';
import { Lock, Wifi, WifiHigh, WifiLow } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NetworkState } from '@station/protocol/agent-network';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { formatPercent } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { JoinDialog } from './join-dialog.tsx';
import { barsOf, networkKey, type ShownNetwork, shownNetworks } from './network-view.ts';

/** The agent scans for 15 s at most. */
const scanTimeoutMs = 25_000;

const icons = { 1: WifiLow, 2: WifiHigh, 3: Wifi } as const;

/** Networks nearby. The first search begins with the page. */
export function NearCard({ state, usable }: { state: NetworkState; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [chosen, setChosen] = useState<ShownNetwork | 'other' | null>(null);
  const scan = useMutation<NetworkState, Problem>({
    mutationFn: () => session.call('POST /api/system/network/scan', { timeoutMs: scanTimeoutMs }),
    onSuccess: (read) => queries.setQueryData(networkKey, read),
  });
  const { blocker, scannedAt } = state;
  const canJoin = usable && blocker === null;
  const isFirst = blocker === null && scannedAt === null;
  useEffect(() => {
    if (isFirst) scan.mutate();
    // Once, with the page: what is in `scan` changes all the time.
  }, [isFirst]);
  const networks = shownNetworks(state);
  return (
    <Card
      title={t('network.near.title')}
      aside={
        blocker === null && (
          <Button
            kind="quiet"
            className="-my-2 -mr-4"
            busy={scan.isPending}
            disabled={!canJoin}
            onClick={() => scan.mutate()}
          >
            {t(scan.isPending ? 'network.near.scanning' : 'network.near.scan')}
          </Button>
        )
      }
    >
      {blocker !== null && <p className="mb-3 text-ink-soft">{t(`network.blocked.${blocker}`)}</p>}
      <ProblemNote error={scan.error} />
      {networks.length === 0 && blocker === null && !scan.isPending && (
        <p className="text-ink-soft">{t('network.near.none')}</p>
      )}
      <ul className="divide-y divide-line">
        {networks.map((network) => (
          <NetworkRow
            key={`${network.ssid} ${network.security}`}
            network={network}
            canJoin={canJoin}
            onJoin={() => setChosen(network)}
          />
        ))}
      </ul>
      {blocker === null && (
        <Button className="mt-4" disabled={!canJoin} onClick={() => setChosen('other')}>
          {t('network.near.other')}
        </Button>
      )}
      {scannedAt !== null && blocker === null && (
        <p className="mt-3 text-small text-ink-soft">
          <Sentence text={(time) => t('network.near.seen', { time })} slot={<TimeAgo at={scannedAt} />} />
        </p>
      )}
      {chosen !== null && <JoinDialog chosen={chosen} onClose={() => setChosen(null)} />}
    </Card>
  );
}

function NetworkRow({ network, canJoin, onJoin }: { network: ShownNetwork; canJoin: boolean; onJoin: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { name, signal, isCurrent, isKnown, isFree, refusal } = network;
  const Icon = icons[barsOf(signal)];
  const facts = [
    ...(isCurrent ? [t('network.near.current')] : isKnown ? [t('network.near.known')] : []),
    t('network.near.signal', { percent: formatPercent(locale, signal) }),
    ...(isFree ? [t('network.near.noPassword')] : []),
  ];
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 py-3">
      <Icon aria-hidden className="size-5 shrink-0 text-ink-soft" />
      <div className="min-w-0 flex-1">
        <h3 className="font-strong break-words">
          {name}
          {!isFree && <Lock aria-hidden className="ml-2 inline size-4 text-ink-soft" />}
        </h3>
        <p className="text-small text-ink-soft">{facts.join(dot)}</p>
        {refusal && <p className="text-small text-ink-soft">{t(`network.near.unsupported.${refusal}`)}</p>}
      </div>
      {!isCurrent && !refusal && (
        <Button disabled={!canJoin} aria-label={t('network.near.join', { name })} onClick={onJoin}>
          {t('network.join.submit')}
        </Button>
      )}
    </li>
  );
}
