import { SlidersHorizontal } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Zone } from '@station/protocol/devices';
import { loadLaterTexts } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';

const ArrangeDialog = lazy(async () => {
  const [{ ArrangeDialog: Arrange }] = await Promise.all([import('./arrange-dialog.tsx'), loadLaterTexts()]);
  return { default: Arrange };
});

/** Opens what changes the order of home; nothing while there is nothing to put in order. */
export function ArrangeButton({ zones, mayManage }: { zones: readonly Zone[]; mayManage: boolean }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  if (!mayManage || zones.length < 2) return null;
  return (
    <>
      <Button aria-label={t('home.arrange')} title={t('home.arrange')} className="px-3" onClick={() => setOpen(true)}>
        <SlidersHorizontal aria-hidden className="size-5" />
      </Button>
      {isOpen && (
        <Suspense fallback={null}>
          <ArrangeDialog zones={zones} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
