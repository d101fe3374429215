import { ArrowLeft, Star } from 'lucide-react';
import { type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { isLimited, isManager, reaches } from '@station/protocol/roles';
import { useDevices, useDeviceTypes, useZones } from '../../api/devices.ts';
import { useChangeFavourites, useFavourites } from '../../api/favourites.ts';
import type { Freshness } from '../../api/reading.ts';
import { useServices, useUser } from '../../api/services.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot, problemWords } from '../../i18n/words.ts';
import { Card, Skeleton } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Dimmable, PageHead } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { UsedBy } from '../../ui/used-by.tsx';
import { ActivityCard } from './activity-list.tsx';
import { DeviceIcon } from './device-icon.tsx';
import { DeviceMenu } from './device-menu.tsx';
import { useControlledDevice } from './device-view.ts';
import { FactsCard } from './facts-card.tsx';
import { NowCard } from './now-card.tsx';

const HistoryCard = lazy(async () => ({ default: (await import('./history-card.tsx')).HistoryCard }));

/** What other features show of a device, handed in by the app. */
type Guests = {
  /** Its update while it goes on. */
  FirmwareCard: ComponentType<{ device: Device }>;
  /** The update that waits for it. */
  FirmwareOffer: ComponentType<{ device: Device }>;
};

export function DevicePage({ id, FirmwareCard, FirmwareOffer }: { id: string } & Guests) {
  const { t } = useTranslation();
  const view = useDevices();
  const types = useDeviceTypes();
  if (view.kind === 'loading' || types === null)
    return (
      <>
        <PageHead page={t('home.devices')}>
          <BackHome />
          <Skeleton className="h-12 w-56" />
        </PageHead>
        <Loading cards={['h-112', 'h-64']} className="lg:grid-cols-[minmax(0,1fr)_20rem]" />
      </>
    );
  if (view.kind === 'fault') {
    return (
      <PageHead page={t('home.devices')}>
        <BackHome />
        <ReadFault title={t('device.fault')} {...view} />
      </PageHead>
    );
  }
  const device = view.value.find((one) => one.id === id);
  if (!device) {
    return (
      <PageHead page={t('home.devices')} freshness={view.freshness}>
        <BackHome />
        <h1 className="text-title font-strong">{t('devicePage.gone.title')}</h1>
        <p className="mt-2 text-ink-soft">{t('devicePage.gone.help')}</p>
      </PageHead>
    );
  }
  return (
    <Shown
      device={device}
      type={types.of(device)}
      freshness={view.freshness}
      firmware={<FirmwareCard device={device} />}
      offer={<FirmwareOffer device={device} />}
    />
  );
}

function Shown({
  device,
  type,
  freshness,
  firmware,
  offer,
}: {
  device: Device;
  type: DeviceType | undefined;
  freshness: Freshness;
  firmware: ReactNode;
  offer: ReactNode;
}) {
  const { t } = useTranslation();
  const zones = useZones();
  const shown = useControlledDevice(device, type);
  const { role } = useUser();
  const mayManage = isManager(role);
  const hasHistory = reaches(role, 'limited');
  const stale = freshness.kind === 'stale';
  const zone = zones?.find(({ id }) => id === device.zoneId);
  return (
    <>
      <PageHead page={device.name} freshness={freshness}>
        <BackHome />
        <div className={classNames('flex items-center gap-4 text-ink', stale && 'dimmed')}>
          <DeviceIcon icon={type?.icon} on={shown.toggle?.value === true && device.status !== 'offline'} />
          <div className="min-w-0">
            <h1 className="text-title font-strong break-words md:text-value">{device.name}</h1>
            <p className="text-ink-soft first-letter:uppercase">
              {zone && zone.name + dot}
              {t(`device.status.${device.status}`)}
            </p>
          </div>
          <div className="ml-auto flex shrink-0 self-start">
            <FavouriteButton device={device} usable={!stale} />
            {mayManage && !stale && <DeviceMenu device={device} />}
          </div>
        </div>
      </PageHead>
      <Dimmable stale={stale} className="main-and-side">
        <div className="cards">
          {firmware}
          <NowCard device={device} shown={shown} usable={!stale && device.status !== 'offline'} />
          {hasHistory && (
            <>
              <Suspense fallback={<Skeleton className="h-72 rounded-2xl" />}>
                <HistoryCard device={device} capabilities={shown.readings.map(({ capability }) => capability)} />
              </Suspense>
              <ActivityCard deviceId={device.id} type={type} />
            </>
          )}
        </div>
        <div className="cards">
          {!isLimited(role) && <UsedInCard device={device} />}
          <FactsCard device={device} firmware={offer} />
        </div>
      </Dimmable>
    </>
  );
}

function UsedInCard({ device }: { device: Device }) {
  const { t } = useTranslation();
  return (
    <Card title={t('devicePage.usedIn.title')}>
      <div className="peer space-y-3 empty:hidden">
        <UsedBy ids={[device.id]} isLinked />
      </div>
      <p className="hidden text-ink-soft peer-empty:block">{t('devicePage.usedIn.nothing')}</p>
    </Card>
  );
}

function BackHome() {
  const { t } = useTranslation();
  return (
    <Link
      href="/"
      className="-mt-2 mb-2 -ml-2 inline-flex min-h-11 items-center gap-2 rounded-xl px-2 text-accent hover:bg-accent-soft"
    >
      <ArrowLeft aria-hidden className="size-5 shrink-0" />
      {t('device.back')}
    </Link>
  );
}

/** Puts a device first at home, for this person alone. */
function FavouriteButton({ device: { id, name }, usable }: { device: Device; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const favourites = useFavourites();
  const { toast } = useServices();
  const change = useChangeFavourites();
  const isFavourite = favourites?.includes(id) ?? false;
  const toggle = (): void => {
    if (!usable || favourites === null) return;
    if (!isFavourite) return change.mutate((ids) => [...ids, id]);
    change.mutate((ids) => ids.filter((one) => one !== id));
    toast.set({ words: t('devicePage.unfavoured', { name }), undo: () => change.mutateAsync(() => [...favourites]) });
  };
  return (
    <div className="flex items-center gap-2">
      <span role="alert" className="text-small text-fault">
        {change.error && problemWords(t, locale, change.error)}
      </span>
      <button
        type="button"
        aria-pressed={isFavourite}
        aria-label={t('devicePage.favourite', { name })}
        title={t('devicePage.favourite', { name })}
        aria-disabled={!usable || favourites === null || undefined}
        onClick={toggle}
        className="grid size-11 place-items-center rounded-xl text-ink-soft hover:text-ink"
      >
        <Star aria-hidden className={classNames('size-6', isFavourite && 'fill-glow text-glow')} />
      </button>
    </div>
  );
}
