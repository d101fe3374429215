import { CirclePlus, FileSpreadsheet, Keyboard, Network, Usb } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Candidate, Provisioning, ProvisioningView } from '@station/protocol/provisioning';
import { isManager } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import { useServices, useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { BackLink, LinkRow } from '../../ui/links.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { Read } from '../../ui/loading.tsx';
import type { Wanted } from './add-dialog.tsx';
import type { DeviceParts } from './device-parts.ts';
import { useFollowProvisioning } from './follow-provisioning.ts';
import { HeardCard } from './heard-card.tsx';
import { NearCard } from './near-card.tsx';
import { isUnderWay, shownProvisionings } from './nearby.ts';
import { ProgressCard } from './progress-card.tsx';
import { useProvisioning } from './provisioning.ts';

const AddDialog = lazy(async () => ({ default: (await import('./add-dialog.tsx')).AddDialog }));

/** What is near and can be added with a tap, what is being added, and the other ways. */
export function AddPage({ parts, waiting }: { parts: DeviceParts; waiting: number }) {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  return mayManage ? <Page parts={parts} waiting={waiting} /> : <Head>{t('error.forbidden')}</Head>;
}

function Head({ children, freshness }: { children: ReactNode; freshness?: Freshness }) {
  const { t } = useTranslation();
  return (
    <PageHead page={t('provisioning.title')} {...(freshness && { freshness })}>
      <BackLink href="/">{t('nav.home')}</BackLink>
      <PageTitle title={t('provisioning.title')}>{children}</PageTitle>
    </PageHead>
  );
}

function Page({ parts, waiting }: { parts: DeviceParts; waiting: number }) {
  const { t } = useTranslation();
  useFollowProvisioning();
  const view = useProvisioning();
  return (
    <>
      <Head {...(view.kind === 'shown' && { freshness: view.freshness })}>{t('provisioning.lead')}</Head>
      <div className="cards max-w-3xl">
        <Read view={view} fault={t('provisioning.fault')} cards={['h-64']}>
          {(value, stale) => (
            <Dimmable stale={stale} className="cards">
              <Near view={value} parts={parts} usable={!stale} />
            </Dimmable>
          )}
        </Read>
        <HeardCard />
        <OtherWays waiting={waiting} />
      </div>
    </>
  );
}

function Near({ view, parts, usable }: { view: ProvisioningView; parts: DeviceParts; usable: boolean }) {
  const { clock } = useServices();
  const [, navigate] = useLocation();
  const [openedAt] = useState(() => clock.now());
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const shown = shownProvisionings(view.provisionings, { openedAt, dismissed });
  const adding = new Set(shown.map(({ externalId }) => externalId));
  const dismiss = ({ id }: Provisioning): void => setDismissed((before) => new Set([...before, id]));
  return (
    <>
      <Adding
        shown={shown}
        parts={parts}
        usable={usable}
        isAsking={wanted !== null}
        onDismiss={dismiss}
        onAgain={(failed) =>
          failed.method === 'manual' ? navigate(manualAgain(failed)) : setWanted(wantedAgain(failed, view.candidates))
        }
      />
      <NearCard
        view={view}
        hidden={adding}
        Icon={parts.Icon}
        usable={usable}
        onChoose={(candidate) => setWanted({ candidate, name: null, zoneId: null, isAgain: false })}
      />
      <Suspense fallback={null}>
        {wanted && <AddDialog wanted={wanted} wifi={view.wifi} onClose={() => setWanted(null)} />}
      </Suspense>
    </>
  );
}

const manualAgain = ({ externalId, deviceType, name }: Provisioning): string =>
  `/add/manual?${new URLSearchParams({ id: externalId, type: deviceType ?? '', name }).toString()}`;

/**
 * A device that failed may not be visible now: it is asked for by its id all the same, and the station says so. So it is when several say that
 * they are this device: then one is chosen in the list.
 */
const wantedAgain = (failed: Provisioning, candidates: readonly Candidate[]): Wanted => ({
  candidate: onlyOne(candidates.filter(({ externalId }) => externalId === failed.externalId)) ?? {
    externalId: failed.externalId,
    address: null,
    defaultName: failed.name,
    deviceId: null,
    protocol: failed.method === 'improv' ? 'improv' : 'station',
  },
  name: failed.name,
  zoneId: failed.zoneId,
  isAgain: true,
});

const onlyOne = ([first, second]: readonly Candidate[]): Candidate | undefined =>
  second === undefined ? first : undefined;

/** A list of an installer can be long. */
const shownAtOnce = 6;

/** One card for each device that is being added. A new one gets the focus: its button in the list is gone. */
function Adding({
  shown,
  parts,
  usable,
  isAsking,
  onDismiss,
  onAgain,
}: {
  shown: readonly Provisioning[];
  parts: DeviceParts;
  usable: boolean;
  /** The dialog is open and has the focus. */
  isAsking: boolean;
  onDismiss: (one: Provisioning) => void;
  onAgain: (one: Provisioning) => void;
}) {
  const { t } = useTranslation();
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const [showsAll, setShowsAll] = useState(false);
  const manualCount = shown.filter(({ method }) => method === 'manual').length;
  const me = useUser().id;
  const own = shown.filter((one) => isUnderWay(one) && one.startedBy === me).map((one) => one.id);
  const newest = own.at(-1);
  const seen = useRef(new Set(own));
  useEffect(() => {
    // One that is seen again, because a later one has ended, must not take the focus.
    if (isAsking || newest === undefined || seen.current.has(newest)) return;
    seen.current.add(newest);
    const card = list.current?.querySelector<HTMLElement>(`[data-provisioning="${newest}"]`);
    card?.focus({ preventScroll: true });
    card?.scrollIntoView({ block: 'nearest' });
  }, [newest, isAsking]);
  if (shown.length === 0) return null;
  // What is added with a tap comes before what waits for a person.
  const sorted = shown.toSorted((a, b) => Number(a.method === 'manual') - Number(b.method === 'manual'));
  const listed = showsAll ? sorted : sorted.slice(0, Math.max(shownAtOnce, shown.length - manualCount));
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="mb-3 font-strong">
        {t('provisioning.adding.title')}
      </h2>
      <ul ref={list} className="grid grid-cols-1 gap-3">
        {listed.map((one) => (
          <ProgressCard
            key={one.id}
            provisioning={one}
            parts={parts}
            usable={usable}
            onDismiss={() => onDismiss(one)}
            onAgain={() => onAgain(one)}
            {...(one.method === 'manual' && { help: t('provisioning.adding.loginShown') })}
          />
        ))}
      </ul>
      {shown.length > listed.length && (
        <Button className="mt-3" onClick={() => setShowsAll(true)}>
          {t('action.showAll')}
        </Button>
      )}
    </section>
  );
}

function OtherWays({ waiting }: { waiting: number }) {
  const { t } = useTranslation();
  const unknownHelp =
    waiting > 0 ? t('provisioning.other.unknownCount', { count: waiting }) : t('provisioning.other.unknown.help');
  return (
    <Card title={t('provisioning.other.title')}>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <LinkRow
          href="/add/manual"
          icon={Keyboard}
          title={t('provisioning.other.manual.title')}
          help={t('provisioning.other.manual.help')}
        />
        <LinkRow
          href="/unknown-devices"
          icon={CirclePlus}
          title={t('provisioning.other.unknown.title')}
          help={unknownHelp}
        />
        <LinkRow
          href="/add/usb"
          icon={Usb}
          title={t('provisioning.other.usb.title')}
          help={t('provisioning.other.usb.help')}
        />
        <LinkRow
          href="/add/list"
          icon={FileSpreadsheet}
          title={t('provisioning.other.list.title')}
          help={t('provisioning.other.list.help')}
        />
        <LinkRow
          href="/add/gateways"
          icon={Network}
          title={t('provisioning.other.gateways.title')}
          help={t('provisioning.other.gateways.help')}
        />
      </div>
    </Card>
  );
}
