import { Send } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../../api/problem.ts';
import { useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { Sentence } from '../../ui/sentence.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { useSendAgain, useSetAside } from './use-cloud.ts';

/** Messages at which the cloud ended the link. What was done about them stays until the page is left. */
export function AsidePart({ count, usable }: { count: number; usable: boolean }) {
  const { t } = useTranslation();
  const mayManage = useUser().role !== 'member';
  const [open, setOpen] = useState(false);
  const again = useSendAgain();
  if (count === 0 && !again.isSuccess) return null;
  return (
    <div className="mt-4 border-t border-line pt-4">
      <p role="status">{again.data && t('cloud.aside.sent', { count: again.data.count })}</p>
      {count > 0 && (
        <>
          <h3 className="flex gap-3 font-strong">
            <ToneIcon tone="attention" className="mt-0.5" />
            {t('cloud.aside.title', { count })}
          </h3>
          <p className="mt-1 text-ink-soft">{t('cloud.aside.help')}</p>
          {mayManage && (
            <>
              <p className="mt-1 text-ink-soft">{t('cloud.aside.sendHelp')}</p>
              <div className="mt-3 flex flex-col gap-x-3 gap-y-2 sm:flex-row">
                <Button busy={again.isPending} disabled={!usable} onClick={() => again.mutate()}>
                  <Send aria-hidden className="size-5" />
                  {t('cloud.aside.send')}
                </Button>
                <Button kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
                  {t(open ? 'cloud.aside.hide' : 'cloud.aside.show')}
                </Button>
              </div>
              {open && <List />}
            </>
          )}
        </>
      )}
      {again.error && (
        <div className="mt-3">
          <ProblemNote problem={again.error} />
        </div>
      )}
    </div>
  );
}

function List() {
  const { t } = useTranslation();
  const { data, error } = useSetAside();
  if (!data) return error ? <ProblemNote problem={asProblem(error)} /> : <Skeleton className="mt-3 h-12" />;
  return (
    <ul className="mt-3 divide-y divide-line">
      {data.map(({ seq, channel, reason, at }) => (
        <li key={seq} className="py-2">
          <p>
            <Sentence
              text={(time) => t('cloud.aside.one', { channel: t(`cloud.channels.${channel}`), time })}
              slot={<TimeAgo at={at} />}
            />
          </p>
          <q lang="en" className="text-small text-ink-soft">
            {reason}
          </q>
        </li>
      ))}
    </ul>
  );
}
