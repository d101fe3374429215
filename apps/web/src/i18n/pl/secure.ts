/** The page that makes a phone or computer trust the station. */
export const secure = {
  title: 'Szyfrowane połączenie',
  checking: 'Sprawdzanie tego połączenia',
  on: 'To połączenie jest szyfrowane. Inni w twojej sieci nie mogą go odczytać.',
  other: 'Aby skonfigurować inne urządzenie, otwórz na nim {{address}}.',
  possible:
    'To połączenie nie jest szyfrowane: inni w twojej sieci mogliby je odczytać. Zmienią to trzy kroki, raz na każdym urządzeniu.',
  off: 'Szyfrowanie jest na tej stacji wyłączone. Administrator może je włączyć w pliku ustawień stacji.',
  fault: 'Stacja nie odpowiada, więc nie udało się sprawdzić połączenia.',
  device: 'Twoje urządzenie',
  devices: {
    iphone: 'iPhone lub iPad',
    android: 'Android',
    windows: 'Windows',
    mac: 'Mac',
    linux: 'Linux',
    firefox: 'Firefox na komputerze',
  },
  download: { title: 'Pobierz certyfikat tej stacji', link: 'Pobierz' },
  install: {
    title: 'Zainstaluj go',
    iphone:
      'Aby pobrać, otwórz tę stronę w Safari. Potem Ustawienia → Pobrano profil → Instaluj. Na koniec Ustawienia → Ogólne → To urządzenie → Ustawienia zaufania certyfikatów: włącz ten o nazwie Station.',
    android:
      'Ustawienia → Zabezpieczenia i prywatność → Więcej ustawień zabezpieczeń → Szyfrowanie i dane logowania → Zainstaluj certyfikat → Certyfikat CA → Zainstaluj mimo to. Wybierz plik ca.crt. Jeśli menu nazywa się inaczej, wyszukaj w ustawieniach „certyfikat CA”.',
    windows:
      'Otwórz plik ca.crt → Zainstaluj certyfikat → Bieżący użytkownik → Umieść wszystkie certyfikaty w następującym magazynie → Zaufane główne urzędy certyfikacji → Zakończ, i potwierdź ostrzeżenie przyciskiem Tak. Potem uruchom przeglądarkę ponownie.',
    mac: 'Otwórz plik ca.crt i dodaj go do aplikacji Dostęp do pęku kluczy. Kliknij tam dwukrotnie ten o nazwie Station i w sekcji Zaufanie wybierz Zawsze ufaj.',
    linux:
      'W Chrome: Ustawienia → Prywatność i bezpieczeństwo → Bezpieczeństwo → Zarządzaj certyfikatami → Niestandardowe → Zaufane certyfikaty → Importuj i wybierz ca.crt.',
    firefox:
      'Ustawienia → Prywatność i bezpieczeństwo → Certyfikaty → Wyświetl certyfikaty → Organy certyfikacji → Importuj. Wybierz ca.crt i pozwól, by identyfikował witryny.',
  },
  open: {
    title: 'Otwórz szyfrowaną stronę',
    link: 'Sprawdź i otwórz',
    busy: 'Sprawdzanie',
    untrusted:
      'Ta przeglądarka nie ufa jeszcze certyfikatowi. Sprawdź krok 2; niektóre przeglądarki trzeba uruchomić ponownie.',
    bookmark: 'Dodaj {{address}} do zakładek. Odtąd to urządzenie trafi tam automatycznie.',
    typed: 'Adres zaczyna się od https:// i kończy portem, który podał instalator.',
  },
  harmless: 'Certyfikat jest tylko dla tej stacji. Jest ważny dla adresów w sieci domowej i dla żadnej witryny.',
  row: { on: 'To połączenie jest szyfrowane', off: 'To połączenie nie jest szyfrowane' },
} as const;
