import { Play } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useScenes } from '../../api/scenes.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { problemWords } from '../../i18n/words.ts';
import type { FindEntry } from '../../ui/find-entry.ts';
import { runWords } from './scene-bar.tsx';
import { useRunScene } from './scenes.ts';

/** What the search finds of scenes: it runs them. */
export function useSceneEntries(): FindEntry[] {
  const { t } = useTranslation();
  const locale = useLocale();
  const scenes = useScenes() ?? [];
  const run = useRunScene();
  const words = run.error ? problemWords(t, locale, run.error) : run.data && runWords(t, run.data);
  return scenes.map(({ id, name }) => ({
    id: `scene:${id}`,
    group: 'scene',
    title: name,
    words: t('scenes.findWords'),
    detail: run.variables === id ? words : undefined,
    icon: Play,
    staysOpen: true,
    run: () => !run.isPending && run.mutate(id),
  }));
}
