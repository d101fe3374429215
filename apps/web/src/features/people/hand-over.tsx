import { Check, Copy } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-text.ts';

/** What someone needs in order to log in, shown once, to be passed on. */
export function HandOver({ email, password }: { email: string; password: string }) {
  const { t } = useTranslation();
  const lines = useRef<HTMLDListElement>(null);
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no');
  const facts = [
    [t('members.made.address'), location.origin],
    [t('members.dialog.email'), email],
    [t('members.made.password'), password],
  ] as const;
  const copy = async (): Promise<void> => {
    const text = facts.map(([name, value]) => `${name}: ${value}`).join('\n');
    setCopied((await copyText(text, lines.current)) ? 'yes' : 'refused');
  };
  return (
    <>
      <p>{t('members.made.help')}</p>
      <dl ref={lines} className="space-y-2 rounded-xl bg-sunken p-4">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt className="text-small text-ink-soft">{name}</dt>
            <dd className="font-strong break-all select-all">{value}</dd>
          </div>
        ))}
      </dl>
      <Button className="w-full" onClick={() => void copy()}>
        {copied === 'yes' ? <Check aria-hidden className="size-5" /> : <Copy aria-hidden className="size-5" />}
        {t(copied === 'yes' ? 'members.made.copied' : 'members.made.copy')}
      </Button>
      <p role="status" className="text-small text-ink-soft">
        {copied === 'refused' && t('members.made.notCopied')}
        {copied === 'yes' && <span className="sr-only">{t('members.made.copied')}</span>}
      </p>
    </>
  );
}
