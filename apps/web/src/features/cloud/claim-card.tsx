import { Check, Copy, ExternalLink, RefreshCw } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { claimCodeOf, type CloudClaim, type CloudStatus } from '@station/protocol/cloud';
import { useUser } from '../../api/services.ts';
import { Button, buttonLook } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { useConfirm } from '../../ui/confirm.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { Read } from '../../ui/loading.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { mayConnect, useClaim, useUnclaim } from './cloud-link.ts';
import { NextAttempt } from './link-card.tsx';

/** How to connect an unclaimed station. */
export function ClaimCard({ status, usable }: { status: CloudStatus; usable: boolean }) {
  const { t } = useTranslation();
  const mayClaim = mayConnect(useUser());
  return (
    <Card title={t('cloud.claim.title')}>
      {mayClaim ? <Claim status={status} usable={usable} /> : <p>{t('cloud.claim.ownerOnly')}</p>}
    </Card>
  );
}

function Claim({ status, usable }: { status: CloudStatus; usable: boolean }) {
  const { t } = useTranslation();
  const view = useClaim();
  return (
    <Read
      view={view}
      fault={t('cloud.claim.fault')}
      cards={['aspect-square w-full max-w-64', 'h-24']}
      className="sm:grid-cols-[16rem_1fr]"
    >
      {(claim) => <Code claim={claim} status={status} usable={usable} />}
    </Read>
  );
}

function Code({ claim, status, usable }: { claim: CloudClaim; status: CloudStatus; usable: boolean }) {
  const { t } = useTranslation();
  const host = status.host ?? '';
  // A link that another backend holds is not known here, which is no fault.
  const isReached = status.lastError === null || !status.isHeldHere;
  const steps = [t('cloud.claim.scan', { host }), t('cloud.claim.confirm'), t('cloud.claim.done')];
  return (
    <>
      <div className="grid items-start gap-x-8 gap-y-6 sm:grid-cols-[minmax(0,16rem)_1fr]">
        <div className="mx-auto w-full max-w-64 space-y-4">
          <QrCode text={claimCodeOf(claim)} label={t('cloud.claim.qr', { host })} />
          <a href={claim.uri} target="_blank" rel="noreferrer" className={classNames(buttonLook('plain'), 'w-full')}>
            <ExternalLink aria-hidden className="size-5 shrink-0" />
            <span className="min-w-0">{t('cloud.claim.open', { host })}</span>
          </a>
        </div>
        <div>
          <ol className="space-y-4">
            {steps.map((step, index) => (
              <li key={step} className="flex gap-3">
                <span
                  aria-hidden
                  className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-small font-strong text-accent"
                >
                  {index + 1}
                </span>
                <span className="min-w-0 pt-0.5">{step}</span>
              </li>
            ))}
          </ol>
          <div
            className={classNames(
              'mt-6 flex gap-3 rounded-xl p-3',
              isReached ? 'bg-working-soft' : 'bg-attention-soft',
            )}
          >
            <ToneIcon tone={isReached ? 'working' : 'attention'} className="mt-0.5" />
            <div className="min-w-0">
              <p role="status">{isReached ? t('cloud.claim.waiting', { host }) : t('cloud.claim.away')}</p>
              {!isReached && <NextAttempt status={status} />}
            </div>
          </div>
        </div>
      </div>
      <ByHand claim={claim} usable={usable} />
    </>
  );
}

/** Large: they are read aloud and typed. */
function ByHand({ claim, usable }: { claim: CloudClaim; usable: boolean }) {
  const { t } = useTranslation();
  const lines = useRef<HTMLDListElement>(null);
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no');
  const renew = useUnclaim();
  const [question, ask] = useConfirm();
  /** In case the current one was seen by the wrong person. */
  const askToRenew = (): void =>
    ask({
      kind: 'primary',
      title: t('cloud.claim.renewTitle'),
      text: <p>{t('cloud.claim.renewHelp')}</p>,
      confirm: t('cloud.claim.renewConfirm'),
      keep: t('cloud.claim.renewKeep'),
      run: () => renew.mutateAsync(),
    });
  const facts = [
    { name: t('cloud.claim.station'), value: claim.chipId, look: 'font-mono break-all select-all' },
    { name: t('cloud.claim.code'), value: claim.claimSecret, look: 'font-mono text-title font-strong select-all' },
  ];
  const copy = async (): Promise<void> => {
    const text = facts.map(({ name, value }) => `${name}: ${value}`).join('\n');
    setCopied((await copyText(text, lines.current)) ? 'yes' : 'refused');
  };
  return (
    <div className="mt-6 border-t border-line pt-6">
      <h3 className="mb-3 font-strong">{t('cloud.claim.byHand')}</h3>
      <dl ref={lines} className="space-y-3 rounded-xl bg-sunken p-4">
        {facts.map(({ name, value, look }) => (
          <div key={name}>
            <dt className="text-small text-ink-soft">{name}</dt>
            <dd className={look}>{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 text-small text-ink-soft">{t('cloud.claim.secret')}</p>
      <div className="mt-3 flex flex-col gap-x-3 gap-y-2 sm:flex-row">
        <Button onClick={() => void copy()}>
          {copied === 'yes' ? <Check aria-hidden className="size-5" /> : <Copy aria-hidden className="size-5" />}
          {t(copied === 'yes' ? 'cloud.claim.copied' : 'cloud.claim.copy')}
        </Button>
        <Button kind="quiet" disabled={!usable} onClick={askToRenew}>
          <RefreshCw aria-hidden className="size-5" />
          {t('cloud.claim.renew')}
        </Button>
      </div>
      <p role="status" className="text-small text-ink-soft">
        {copied === 'refused' && t('cloud.claim.notCopied')}
        {copied === 'yes' && <span className="sr-only">{t('cloud.claim.copied')}</span>}
      </p>
      {question}
    </div>
  );
}
