import { lazy, Suspense, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
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

/** Addresses, so that Back leads to the set-up page. */
const restorePlace = '/restore';
const foundPlace = '/restore/found';

/** A station without an account: a new one, or the one of a backup. */
export function SetupPlace() {
  const { t } = useTranslation();
  const [place, go] = useLocation();
  const state = useStore(useServices().session.state);
  const lost = state.kind === 'setup_needed' ? state.lost : null;
  const found = place === foundPlace ? (lost?.backup ?? null) : null;
  // What this browser keeps is of a station that is no more.
  useEffect(() => void forgetStation().catch(() => undefined), []);
  if (place === restorePlace || found !== null)
    return (
      <Suspense fallback={null}>
        <SetupRestorePage found={found} onBack={() => go('/')} />
      </Suspense>
    );
  return (
    <SetupPage note={lost && <SetupLoss loss={lost} onRestore={() => go(foundPlace)} />}>
      <Button kind="quiet" className="mt-4 w-full" onClick={() => go(restorePlace)}>
        {t('session.setup.restore')}
      </Button>
    </SetupPage>
  );
}
