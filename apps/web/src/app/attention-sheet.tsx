import { ChevronRight, Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ToneIcon } from '../ui/tone.tsx';
import type { Thing } from './home-attention.ts';

/** All that needs attention, each with the one thing to do. */
export function AttentionSheet({ things, onClose }: { things: readonly Thing[]; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      isSheet
      title={t('health.tone.attention')}
      onClose={onClose}
      actions={<Button onClick={onClose}>{t('action.dismiss')}</Button>}
    >
      <ul className="divide-y divide-line">
        {things.map(({ key, tone, title, help, href }) => (
          <li key={key}>
            <Link href={href} className="flex min-h-16 items-center gap-3 rounded-xl py-2 hover:bg-sunken">
              {tone === 'notice' ? (
                <Info aria-hidden className="size-5 shrink-0 text-ink-soft" />
              ) : (
                <ToneIcon tone={tone} />
              )}
              <span className="min-w-0 flex-1">
                <span className="block font-strong break-words">{title}</span>
                <span className="block text-small text-ink-soft first-letter:uppercase">{help}</span>
              </span>
              <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
            </Link>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
