import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SetupPage } from '../features/session/setup-page.tsx';
import { loadLaterTexts } from '../i18n/i18n.ts';
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
  // What this browser keeps is of a station that is no more.
  useEffect(() => void forgetStation().catch(() => undefined), []);
  if (restoring)
    return (
      <Suspense fallback={null}>
        <SetupRestorePage onBack={() => setRestoring(false)} />
      </Suspense>
    );
  return (
    <SetupPage>
      <Button kind="quiet" className="mt-4 w-full" onClick={() => setRestoring(true)}>
        {t('session.setup.restore')}
      </Button>
    </SetupPage>
  );
}
