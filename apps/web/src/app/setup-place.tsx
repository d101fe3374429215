import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SetupPage } from '../features/session/setup-page.tsx';
import { loadLaterTexts } from '../i18n/i18n.ts';
import { SetupLoss } from '../features/session/setup-loss.tsx';
import { useServices, useStore } from '../api/services.ts';
import { forgetStation } from './offline.ts';
import { Button } from '../ui/button.tsx';

const SetupRestorePage = lazy(async () => {
  const [{ SetupRestorePage: Page }] = await Promise.all([import('./setup-restore-page.tsx'), loadLaterTexts()]);
  return { default: Page };
});

/** A station without an account: a new one, or the one of a backup. */
export function SetupPlace() {
  const { t } = useTranslation();
  const [restoring, setRestoring] = useState(false);
  const state = useStore(useServices().session.state);
  const lost = state.kind === 'setup_needed' ? state.lost : null;
  const [isFound, setIsFound] = useState(false);
  const found = isFound ? (lost?.backup ?? null) : null;
  // What this browser keeps is of a station that is no more.
  useEffect(() => void forgetStation().catch(() => undefined), []);
  const restore = (takesFound: boolean): void => {
    setIsFound(takesFound);
    setRestoring(true);
  };
  if (restoring)
    return (
      <Suspense fallback={null}>
        <SetupRestorePage found={found} onBack={() => setRestoring(false)} />
      </Suspense>
    );
  return (
    <SetupPage note={lost && <SetupLoss loss={lost} onRestore={() => restore(true)} />}>
      <Button kind="quiet" className="mt-4 w-full" onClick={() => restore(false)}>
        {t('session.setup.restore')}
      </Button>
    </SetupPage>
  );
}
