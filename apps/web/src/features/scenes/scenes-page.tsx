import { Clapperboard, Pencil, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { isManager } from '@station/protocol/roles';
import { useDevices } from '../../api/devices.ts';
import { useScenes } from '../../api/scenes.ts';
import { useUser } from '../../api/services.ts';
import { buttonLook } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { EmptyNote } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { PageHead, PageTitle } from '../../ui/page.tsx';
import { SceneButton } from './scene-bar.tsx';

/** All scenes: run, made and changed. */
export function ScenesPage() {
  const { t } = useTranslation();
  const scenes = useScenes();
  const devices = useDevices();
  const mayManage = isManager(useUser().role);
  const usable = devices.kind === 'shown' && devices.freshness.kind !== 'stale';
  const nameOf = (id: string): string | undefined =>
    devices.kind === 'shown' ? devices.value.find((one) => one.id === id)?.name : undefined;
  return (
    <>
      <PageHead page={t('scenes.title')} {...(devices.kind === 'shown' && { freshness: devices.freshness })}>
        <div className="flex flex-col gap-4 sm:flex-row sm:items-start sm:justify-between">
          <div>
            <PageTitle title={t('scenes.title')}>{t('scenes.lead')}</PageTitle>
          </div>
          {mayManage && (
            <Link href="/scenes/new" className={classNames('shrink-0 self-start', buttonLook('plain'))}>
              <Plus aria-hidden className="size-5" />
              {t('scenes.new')}
            </Link>
          )}
        </div>
      </PageHead>
      {scenes === null && <Loading cards={['h-24']} />}
      {scenes?.length === 0 && (
        <EmptyNote
          icon={Clapperboard}
          title={t('scenes.empty')}
          help={t(mayManage ? 'scenes.emptyHelp' : 'scenes.emptyHelpMember')}
        />
      )}
      <ul className="grid grid-cols-1 gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {scenes?.map((scene) => (
          <li
            key={scene.id}
            className="flex items-start gap-2 rounded-2xl border border-line bg-surface p-4 shadow-lift"
          >
            <div className="min-w-0 flex-1">
              <SceneButton scene={scene} usable={usable} />
              <p className="mt-2 px-4 text-small break-words text-ink-soft">
                {[...new Set(scene.commands.map(({ deviceId }) => nameOf(deviceId) ?? t('scenes.gone')))].join(', ')}
              </p>
            </div>
            {mayManage && (
              <Link
                href={`/scenes/${scene.id}`}
                aria-label={t('scenes.changeNamed', { name: scene.name })}
                className="grid size-11 shrink-0 place-items-center rounded-xl text-ink-soft hover:text-ink"
              >
                <Pencil aria-hidden className="size-4" />
              </Link>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
