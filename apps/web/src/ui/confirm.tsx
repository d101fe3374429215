import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ProblemNote } from './problem.tsx';

export type Question = {
  title: string;
  text: ReactNode;
  /** The word of the button that does it. */
  confirm: string;
  /** The word of the button that does nothing; without it "Cancel". */
  keep?: string;
  /** `primary`: it can be undone. */
  kind?: 'danger' | 'primary';
  /** What is done. The question stays until a promise is resolved, and says why it was not. */
  run: () => unknown;
};

/** Asks before something is done. The dialog stands anywhere in the page that asks. */
export function useConfirm(): [dialog: ReactNode, ask: (question: Question) => void] {
  const [question, setQuestion] = useState<Question | null>(null);
  return [question && <Confirm {...question} onClose={() => setQuestion(null)} />, setQuestion];
}

function Confirm({ title, text, confirm, keep, kind = 'danger', run, onClose }: Question & { onClose: () => void }) {
  const { t } = useTranslation();
  const act = useMutation({ mutationFn: async () => run(), onSuccess: onClose });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button kind={kind} busy={act.isPending} onClick={() => act.mutate()}>
            {confirm}
          </Button>
          <Button onClick={onClose}>{keep ?? t('action.cancel')}</Button>
        </>
      }
    >
      {text}
      <ProblemNote error={act.error} />
    </Dialog>
  );
}
