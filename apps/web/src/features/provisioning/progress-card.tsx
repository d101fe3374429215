import { Check, Circle, CircleDot } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { Provisioning } from '@station/protocol/provisioning';
import { useDevices, useDeviceTypes } from '../../api/devices.ts';
import { useServices, useTick } from '../../api/services.ts';
import { formatElapsed } from '../../i18n/format.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { LinkButton } from '../../ui/links.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import type { DeviceParts } from './device-parts.ts';
import { isUnderWay } from './nearby.ts';
import { useCancel, useLogin } from './provisioning.ts';
import { failureWords, stepsOf } from './provisioning-words.ts';

const LoginSheet = lazy(async () => ({ default: (await import('./login-sheet.tsx')).LoginSheet }));

/** How far the adding of one device is; at its end the device itself, or what helps. */
export function ProgressCard({
  provisioning,
  parts,
  usable,
  onDismiss,
  onAgain,
  help,
}: {
  provisioning: Provisioning;
  parts: DeviceParts;
  usable: boolean;
  onDismiss: () => void;
  onAgain: () => void;
  /** What to do while it is under way. */
  help?: string;
}) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const cancel = useCancel(provisioning.id);
  const { name, deviceType, externalId, status } = provisioning;
  const { steps, at } = stepsOf(provisioning);
  const step = steps[at];
  const title =
    status === 'succeeded'
      ? t('provisioning.adding.succeeded', { name })
      : status === 'timed_out'
        ? t('provisioning.adding.timedOut', { name })
        : isUnderWay(provisioning)
          ? name
          : t('provisioning.adding.failed', { name });
  return (
    <li
      data-provisioning={provisioning.id}
      tabIndex={-1}
      className="scroll-m-24 rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6"
    >
      <article aria-label={name}>
        <div className="flex items-start justify-between gap-4">
          <div className="min-w-0">
            <h3 className="font-strong break-words">{title}</h3>
            <p className="text-small break-words text-ink-soft">
              {deviceType === null ? externalId : `${nameOf(deviceType)}${dot}${externalId}`}
            </p>
          </div>
          {isUnderWay(provisioning) && (
            <Button
              kind="quiet"
              className="-mt-2 -mr-2 shrink-0"
              busy={cancel.isPending}
              disabled={!usable}
              aria-label={t('provisioning.adding.cancel', { name })}
              onClick={() => cancel.mutate()}
            >
              {t('action.cancel')}
            </Button>
          )}
        </div>
        <p role="status" className="sr-only">
          {isUnderWay(provisioning) ? (step ? `${name}: ${t(`provisioning.adding.step.${step}`)}` : '') : title}
        </p>
        <ProblemNote error={cancel.error} />
        {isUnderWay(provisioning) && (
          <>
            <Steps provisioning={provisioning} />
            {help !== undefined && <p className="mt-3 text-small text-ink-soft">{help}</p>}
            {provisioning.method === 'improv' && status === 'waiting' && (
              <Login provisioning={provisioning} usable={usable} />
            )}
          </>
        )}
        {status === 'succeeded' && (
          <Added provisioning={provisioning} parts={parts} usable={usable} onDone={onDismiss} />
        )}
        {(status === 'failed' || status === 'timed_out') && (
          <>
            <div role="alert" className="mt-3 flex gap-3 rounded-xl bg-fault-soft p-3">
              <ToneIcon tone="fault" className="mt-0.5" />
              <div className="min-w-0">
                <p>{failureWords(t, provisioning)}</p>
                <p className="text-small text-ink-soft">
                  {t('error.code')}: <code>{provisioning.error ?? status}</code>
                </p>
              </div>
            </div>
            <div className="mt-4 flex flex-wrap gap-3">
              <Button kind="primary" disabled={!usable} onClick={onAgain}>
                {t('provisioning.adding.again')}
              </Button>
              <Button onClick={onDismiss}>{t('provisioning.adding.dismiss')}</Button>
            </div>
          </>
        )}
      </article>
    </li>
  );
}

function Steps({ provisioning }: { provisioning: Provisioning }) {
  const { t } = useTranslation();
  const { steps, at } = stepsOf(provisioning);
  return (
    <>
      <ol aria-label={t('provisioning.adding.steps')} className="mt-4 space-y-2">
        {steps.map((step, index) => (
          <li
            key={step}
            aria-current={index === at ? 'step' : undefined}
            className={classNames('flex items-center gap-3', index === at ? 'font-strong' : 'text-ink-soft')}
          >
            {index < at ? (
              <Check aria-hidden className="size-5 shrink-0 text-ok" />
            ) : index === at ? (
              <CircleDot aria-hidden className="size-5 shrink-0 animate-breathe text-working" />
            ) : (
              <Circle aria-hidden className="size-5 shrink-0" />
            )}
            <span className="min-w-0">
              {t(`provisioning.adding.step.${step}`)}
              {index === at && <TimeLeft provisioning={provisioning} />}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function TimeLeft({ provisioning: { endsAt, status } }: { provisioning: Provisioning }) {
  const { t } = useTranslation();
  const { clock } = useServices();
  useTick(1_000);
  if (endsAt === null || status !== 'waiting') return null;
  return (
    <span className="text-small font-plain text-ink-soft">
      {dot}
      {t('provisioning.adding.left', { time: formatElapsed(Date.parse(endsAt) - clock.now()) })}
    </span>
  );
}

/** The login of an Improv device, made when somebody wants to see it. */
function Login({ provisioning, usable }: { provisioning: Provisioning; usable: boolean }) {
  const { t } = useTranslation();
  const login = useLogin(provisioning.id);
  if (login.data) {
    return (
      <div className="mt-4">
        <Suspense fallback={<Skeleton className="h-64 rounded-2xl" />}>
          <LoginSheet name={provisioning.name} login={login.data} />
        </Suspense>
      </div>
    );
  }
  return (
    <div className="mt-4 space-y-3">
      <p className="text-ink-soft">{t('provisioning.adding.showLoginHelp')}</p>
      <Button kind="primary" busy={login.isPending} disabled={!usable} onClick={() => login.mutate()}>
        {t('provisioning.adding.showLogin')}
      </Button>
      <ProblemNote error={login.error} />
    </div>
  );
}

/** The device as it is at home. */
function Added({
  provisioning,
  parts: { Tile },
  usable,
  onDone,
}: {
  provisioning: Provisioning;
  parts: DeviceParts;
  usable: boolean;
  onDone: () => void;
}) {
  const { t } = useTranslation();
  const devices = useDevices();
  const types = useDeviceTypes();
  const device = devices.kind === 'shown' ? devices.value.find(({ id }) => id === provisioning.deviceId) : undefined;
  return (
    <>
      {device && (
        <ul className="mt-4 grid max-w-64 grid-cols-1">
          <Suspense fallback={<Skeleton className="h-40 rounded-2xl" />}>
            <Tile device={device} type={types?.of(device)} usable={usable} />
          </Suspense>
        </ul>
      )}
      <div className="mt-4 flex flex-wrap gap-3">
        <Button kind="primary" onClick={onDone}>
          {t('provisioning.adding.done')}
        </Button>
        {provisioning.deviceId !== null && (
          <LinkButton href={`/devices/${provisioning.deviceId}`}>{t('provisioning.adding.open')}</LinkButton>
        )}
      </div>
    </>
  );
}
