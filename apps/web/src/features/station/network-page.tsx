import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NetworkLink, NetworkState } from '@station/protocol/agent-network';
import { isManager } from '@station/protocol/roles';
import { useReading } from '../../api/reading.ts';
import { useServices, useUser } from '../../api/services.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { ToneDisc } from '../../ui/tone.tsx';
import { HotspotCard } from './hotspot-card.tsx';
import { NearCard } from './near-card.tsx';
import { NetworkCard } from './network-card.tsx';
import { networkKey, unreadJoin } from './network-view.ts';

/** Where the station is in the network, and how it gets into another one. `ofDevices`: the Wi-Fi of its devices. */
export function NetworkPage({ ofDevices }: { ofDevices: (usable: boolean) => ReactNode }) {
  const { t } = useTranslation();
  const { role } = useUser();
  return isManager(role) ? (
    <Managed isOwner={role === 'owner'} ofDevices={ofDevices} />
  ) : (
    <Frame>
      <p className="text-ink-soft">{t('network.membersOnly')}</p>
    </Frame>
  );
}

function Frame({ freshness, children }: Pick<Parameters<typeof PageHead>[0], 'freshness' | 'children'>) {
  const { t } = useTranslation();
  return (
    <>
      <PageHead page={t('network.title')} {...(freshness && { freshness })}>
        <PageTitle title={t('network.title')}>{t('network.help')}</PageTitle>
      </PageHead>
      {children}
    </>
  );
}

/** In all other states the station is on its way into a network. */
const settled: ReadonlySet<string> = new Set(['CONNECTED', 'HOTSPOT_ACTIVE', 'DISABLED']);

function Managed({ isOwner, ofDevices }: { isOwner: boolean; ofDevices: (usable: boolean) => ReactNode }) {
  const { t } = useTranslation();
  const view = useReading(networkKey, 'GET /api/system/network', {
    isFromAgent: true,
    isBusy: (state) => state !== undefined && (state.joining !== null || !settled.has(state.wifi.watchdog.state)),
  });
  if (view.kind === 'loading') {
    return (
      <Frame>
        <Loading cards={['h-48']} />
      </Frame>
    );
  }
  if (view.kind === 'fault') {
    return (
      <Frame>
        <ReadFault title={t('network.fault')} {...view} />
        <div className="mt-4 grid grid-cols-1 gap-4 md:mt-6 md:gap-6">{ofDevices(true)}</div>
      </Frame>
    );
  }
  const { value: state, freshness } = view;
  const stale = freshness.kind === 'stale';
  return (
    <Frame freshness={freshness}>
      <JoinNote state={state} />
      <Dimmable stale={stale && state.joining === null} className="main-and-side">
        <div className="cards">
          <NetworkCard wifi={state.wifi} />
          <NearCard state={state} usable={!stale} />
          {ofDevices(!stale)}
        </div>
        <div className="cards">
          <LinksCard links={state.links} />
          {isOwner && state.wifi.mode !== 'disabled' && <HotspotCard />}
        </div>
      </Dimmable>
    </Frame>
  );
}

/** The join under way, or how the last one ended; that stays until somebody has read it. */
function JoinNote({ state }: { state: NetworkState }) {
  const { t } = useTranslation();
  const { memory } = useServices();
  const [readAt, setReadAt] = useState(memory.get('read-join'));
  const { joining, stationAddress } = state;
  const ended = unreadJoin(state, readAt);
  // The choice of a network is above the fold on a phone; the result must be seen, too.
  useEffect(() => {
    if (joining !== null || ended !== null) document.getElementById('join-note')?.scrollIntoView({ block: 'nearest' });
  }, [joining, ended]);
  return (
    <div id="join-note" role="status" className="scroll-mt-4">
      {joining !== null && (
        <Note tone="working" title={t('network.joining.title', { name: joining })}>
          <p>{t('network.joining.help')}</p>
          <p className="text-ink-soft">{t('network.joining.address', { name: joining, address: stationAddress })}</p>
        </Note>
      )}
      {ended && (
        <Note
          tone={ended.failure === null ? 'ok' : 'attention'}
          title={t(ended.failure === null ? 'network.result.joined' : 'network.result.failed', { name: ended.name })}
        >
          <p>{ended.failure === null ? t('network.result.joinedHelp') : t(`network.result.reason.${ended.failure}`)}</p>
          {ended.failure !== null && state.wifi.mode !== 'hotspot' && state.wifi.mode !== 'offline' && (
            <p className="text-ink-soft">{t('network.result.failedHelp')}</p>
          )}
          <Button
            className="mt-3"
            onClick={() => {
              memory.set('read-join', ended.at);
              setReadAt(ended.at);
              // The button that had the focus was removed with its note.
              document.getElementById('content')?.focus({ preventScroll: true });
            }}
          >
            {t('network.result.read')}
          </Button>
        </Note>
      )}
    </div>
  );
}

function Note({ tone, title, children }: Pick<Parameters<typeof ToneDisc>[0], 'tone'> & Parameters<typeof Card>[0]) {
  return (
    <section className="mb-4 flex gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift md:mb-6 md:p-6">
      <ToneDisc tone={tone} />
      <div className="min-w-0 space-y-1">
        <h2 className="text-title font-strong break-words">{title}</h2>
        {children}
      </div>
    </section>
  );
}

function LinksCard({ links }: { links: readonly NetworkLink[] }) {
  const { t } = useTranslation();
  return (
    <Card title={t('network.links.title')}>
      {links.length === 0 && <p className="text-ink-soft">{t('network.links.none')}</p>}
      <ul className="space-y-4">
        {links.map(({ interface: name, kind, addresses, mac }) => (
          <li key={name}>
            <h3 className="font-strong">
              {t(`network.links.${kind}`)}
              <span className="font-normal text-ink-soft">
                {dot}
                <code>{name}</code>
              </span>
            </h3>
            {addresses.length === 0 && <p>{t('network.links.noAddress')}</p>}
            {addresses.map((address) => (
              <p key={address} className="font-mono text-small break-all select-all">
                {address}
              </p>
            ))}
            <p className="text-small text-ink-soft">{t('network.links.mac', { mac })}</p>
          </li>
        ))}
      </ul>
    </Card>
  );
}
