import { Camera, ScanLine } from 'lucide-react';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button, buttonLook } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { type Label, readLabel } from './label.ts';

/** The decoder is large: it is fetched when it is needed. */
const loadReader = () => import('./read-qr.ts');

/** Browsers give the camera to secure pages only; a photo works everywhere. */
const hasCamera = (): boolean => isSecureContext && 'mediaDevices' in navigator;

/** Reads the QR code of a device's label, with the camera or from a photo. */
export function ScanLabel({ onRead }: { onRead: (label: Label) => void }) {
  const { t } = useTranslation();
  const [scanning, setScanning] = useState(false);
  const [note, setNote] = useState<string | null>(null);
  const accept = (text: string): void => {
    const label = readLabel(text);
    setNote(
      label
        ? t('provisioning.scan.read', { id: label.externalId })
        : t('provisioning.scan.foreign', { text: text.slice(0, 60) }),
    );
    if (label) onRead(label);
  };
  const readFile = async (file: File): Promise<void> => {
    setNote(t('provisioning.scan.reading'));
    const text = await loadReader()
      .then(
        ({ readPhoto }) => readPhoto(file),
        () => null,
      )
      .catch(() => null);
    if (text === null) setNote(t('provisioning.scan.none'));
    else accept(text);
  };
  return (
    <div>
      <div className="flex flex-wrap gap-3">
        {hasCamera() && (
          <Button onClick={() => setScanning(true)}>
            <ScanLine aria-hidden className="size-5" />
            {t('provisioning.scan.camera')}
          </Button>
        )}
        <label
          className={classNames(
            buttonLook('plain'),
            'cursor-pointer has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
          )}
        >
          <Camera aria-hidden className="size-5" />
          {t('provisioning.scan.photo')}
          <input
            type="file"
            accept="image/*"
            capture="environment"
            className="sr-only"
            onChange={({ target }) => {
              const file = target.files?.[0];
              target.value = '';
              if (file) void readFile(file);
            }}
          />
        </label>
      </div>
      <p role="status" className="mt-2 text-small break-words text-ink-soft empty:hidden">
        {note}
      </p>
      {scanning && (
        <CameraDialog
          onText={(text) => {
            setScanning(false);
            accept(text);
          }}
          onClose={() => setScanning(false)}
        />
      )}
    </div>
  );
}

const lookEveryMs = 250;

function CameraDialog({ onText, onClose }: { onText: (text: string) => void; onClose: () => void }) {
  const { t } = useTranslation();
  const video = useRef<HTMLVideoElement>(null);
  const [state, setState] = useState<'starting' | 'looking' | 'refused'>('starting');
  const found = useEffectEvent(onText);
  useEffect(() => {
    const gone = new AbortController();
    const look = async (): Promise<void> => {
      const [stream, reader] = await Promise.all([
        navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } }),
        loadReader(),
      ]);
      const stop = (): void => stream.getTracks().forEach((track) => track.stop());
      if (gone.signal.aborted || !video.current) return stop();
      gone.signal.addEventListener('abort', stop);
      const screen = video.current;
      screen.srcObject = stream;
      await screen.play();
      setState('looking');
      const timer = setInterval(() => {
        const text = reader.readVideo(screen);
        if (text !== null) found(text);
      }, lookEveryMs);
      gone.signal.addEventListener('abort', () => clearInterval(timer));
    };
    look().catch(() => !gone.signal.aborted && setState('refused'));
    return () => gone.abort();
  }, []);
  return (
    <Dialog
      title={t('provisioning.scan.title')}
      onClose={onClose}
      actions={<Button onClick={onClose}>{t('action.cancel')}</Button>}
    >
      <p role="status">
        {t(
          state === 'refused'
            ? 'provisioning.scan.refused'
            : state === 'starting'
              ? 'provisioning.scan.starting'
              : 'provisioning.scan.help',
        )}
      </p>
      <video
        ref={video}
        muted
        playsInline
        hidden={state !== 'looking'}
        className="aspect-square w-full rounded-xl bg-sunken object-cover"
      />
    </Dialog>
  );
}
