import { Check, Play } from 'lucide-react';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { Scene, SceneRun } from '@station/protocol/scenes';
import { useLocale } from '../../i18n/i18n.ts';
import { problemWords } from '../../i18n/words.ts';
import { useRunScene } from './scenes.ts';

/** At home: one tap runs a scene. Nothing while there is none. */
export function SceneBar({ scenes, usable }: { scenes: readonly Scene[]; usable: boolean }) {
  const { t } = useTranslation();
  if (scenes.length === 0) return null;
  return (
    <section aria-label={t('scenes.title')}>
      <ul className="flex flex-wrap gap-2">
        {scenes.map((scene) => (
          <li key={scene.id} className="max-w-full">
            <SceneButton scene={scene} usable={usable} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** With what came of it. */
export function SceneButton({ scene, usable }: { scene: Scene; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const run = useRunScene();
  const Icon = run.isSuccess ? Check : Play;
  const words = run.error ? problemWords(t, locale, run.error) : run.data ? runWords(t, run.data) : null;
  return (
    <>
      <button
        type="button"
        aria-busy={run.isPending || undefined}
        aria-disabled={!usable || undefined}
        onClick={() => usable && !run.isPending && run.mutate(scene.id)}
        className="inline-flex min-h-11 max-w-full items-center gap-2 rounded-full border border-line-strong bg-surface px-4 font-strong hover:bg-sunken"
      >
        <Icon aria-hidden className="size-4 shrink-0 text-accent" />
        <span className="truncate">{scene.name}</span>
      </button>
      <p role="status" className="px-4 text-small text-ink-soft empty:hidden">
        {words}
      </p>
    </>
  );
}

export const runWords = (t: TFunction, { sent, failed }: SceneRun): string =>
  failed.length === 0 ? t('scenes.ran') : t('scenes.ranPartly', { sent: sent.length, count: failed.length });
