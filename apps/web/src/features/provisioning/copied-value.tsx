import { Check, Copy } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from '../../ui/copy-text.ts';

/** A value that a person enters elsewhere, in a `<dl>`, with a button that copies it. */
export function CopiedValue({ what, value }: { what: string; value: string }) {
  const { t } = useTranslation();
  const shown = useRef<HTMLSpanElement>(null);
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no');
  const copy = async (): Promise<void> => setCopied((await copyText(value, shown.current)) ? 'yes' : 'refused');
  return (
    <div className="py-2 first:pt-0">
      <dt className="text-small text-ink-soft">{what}</dt>
      <dd className="flex items-center gap-3">
        <span ref={shown} className="min-w-0 flex-1 font-mono break-all select-all">
          {value}
        </span>
        <button
          type="button"
          aria-label={t('provisioning.sheet.copy', { what })}
          onClick={() => void copy()}
          className="grid size-11 shrink-0 place-items-center rounded-xl text-accent hover:bg-accent-soft"
        >
          {copied === 'yes' ? <Check aria-hidden className="size-5" /> : <Copy aria-hidden className="size-5" />}
        </button>
      </dd>
      <dd role="status" className="text-small text-ink-soft empty:hidden">
        {copied === 'yes' && t('provisioning.sheet.copied')}
        {copied === 'refused' && t('provisioning.sheet.notCopied')}
      </dd>
    </div>
  );
}
