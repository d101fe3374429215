import { useTranslation } from 'react-i18next';
import { useScenes } from '../../api/scenes.ts';
import { UsedList } from '../../ui/used-by.tsx';

/** The scenes that lose commands with these devices. */
export function UsedByScenes({ ids, isLinked = false }: { ids: readonly string[]; isLinked?: boolean }) {
  const { t } = useTranslation();
  const used = (useScenes() ?? []).filter(({ commands }) => commands.some(({ deviceId }) => ids.includes(deviceId)));
  const names = used.map(({ id, name }) => ({ name, href: isLinked ? `/scenes/${id}` : null }));
  return <UsedList title={t('scenes.used', { count: used.length })} names={names} />;
}
